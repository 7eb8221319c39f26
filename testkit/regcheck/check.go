// Package regcheck checks whether a server follows the protocols of registries and mirrors. It modifies
// nothing. It is experimental.
//
//	regcheck.Check(t, server.URL, regcheck.Options{Client: server.Client(), Provider: "acme/alpha"})
//
// See https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/,
// https://opentofu.org/docs/internals/module-registry-protocol/ and
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/.
package regcheck

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/internal/weburl"
)

// Options are options of [Examine]. The zero value checks only discovery and service URLs.
type Options struct {
	Client *http.Client // if nil, [http.DefaultClient]; CheckRedirect is ignored

	// Timeout bounds each check, and in "mirror archive" each archive. If zero or less, it is 5 minutes for archive,
	// mirror archive and mirror version, otherwise 30 seconds.
	Timeout time.Duration

	// AllowHTTP accepts http URLs of files, services and redirects, as the CLIs do, without the token.
	AllowHTTP bool

	// Token, if not empty, must be required by lists of versions. It is sent to the server and its services, or to
	// the mirror if the base URL is empty. Of files there, only a module package with use_registry_credentials gets
	// it.
	Token string

	Provider string // such as "acme/alpha"; if empty, not checked
	Version  string // if empty, the first listed version
	Platform string // such as "linux_amd64"; if empty, the first listed platform, or linux_amd64

	Module        string // such as "acme/network/aws"; if empty, not checked
	ModuleVersion string // if empty, the first listed version

	Mirror         string // https base URL; if empty, not checked
	MirrorProvider string // such as "registry.example.com/acme/alpha"; if empty, Provider at the base URL; one is required
}

// Level is a severity.
type Level string

const (
	Failed  Level = "failed"  // some clients fail
	Advice  Level = "advice"  // clients could work better
	Skipped Level = "skipped" // because of another finding
)

// A Finding is a problem that a check found.
type Finding struct {
	Check string // name
	Level Level  // severity
	Text  string // request and problem, in one line, safe to print
}

// String returns the finding in one line.
func (f Finding) String() string { return f.Check + ": " + string(f.Level) + ": " + f.Text }

// TB is the part of [testing.TB] that [Check] uses.
type TB interface {
	Context() context.Context          // ends with the test
	Helper()                           // marks helpers
	Errorf(format string, args ...any) // fails the test
	Logf(format string, args ...any)   // prints text
}

// Check reports failures as errors of the test, and logs advice and skipped checks. baseURL is the https URL of a
// host, or empty for a mirror. The checks:
//
//	discovery                valid, with the required services
//	service URLs             end with a slash; only advice for modules.v1
//	provider versions        valid, with the version
//	provider package         complete
//	sums                     list the archive with the stated digest
//	signature                valid, by a listed key
//	archive                  matches digest and hashes, can be installed
//	ranges                   supported; advice only
//	unknown provider         404, also for an unknown version
//	module versions          valid, with the version
//	module location          supported, the same for all
//	module package           archive, or page with another location
//	unknown module           404
//	mirror index             valid
//	mirror version           a document each, with URLs and any valid hashes
//	mirror archive           one of each version matches
//	unknown mirror provider  404
//	authorization            401 without the token
//
// Archives are downloaded to temporary files of up to 1 GiB. The namespace "regcheck-unknown" and the version
// 0.0.0-regcheck must not exist.
func Check(t TB, baseURL string, o Options) {
	t.Helper()
	for _, f := range Examine(t.Context(), baseURL, o) {
		if f.Level == Failed {
			t.Errorf("%s: %s", f.Check, f.Text)
		} else {
			t.Logf("%v", f)
		}
	}
}

// Examine makes the checks of [Check]. If all succeed, the result is empty.
func Examine(ctx context.Context, baseURL string, o Options) []Finding {
	e := &examiner{whole: ctx, o: o, good: map[string]bool{}, mirrorAlone: baseURL == "" && o.Mirror != ""}
	if !e.mirrorAlone {
		e.registry(baseURL)
	}
	if o.Mirror != "" {
		e.run("mirror index", e.mirrorIndex)
		e.run("mirror version", e.mirrorVersion, "mirror index")
		e.run("mirror archive", e.mirrorArchives, "mirror version")
		e.run("unknown mirror provider", e.unknownMirrorProvider, "mirror index")
	}
	if o.Token != "" {
		e.run("authorization", e.authorization)
	}
	return e.findings
}

// registry makes the checks of a registry.
func (e *examiner) registry(baseURL string) {
	e.run("discovery", func() error { return e.start(baseURL) })
	e.run("service URLs", e.serviceURLs, "discovery")
	if e.o.Provider != "" {
		e.run("provider versions", e.providerVersions, "discovery")
		e.run("provider package", e.providerPackage, "provider versions")
		e.run("sums", e.sums, "provider package")
		e.run("signature", e.signature, "sums")
		e.run("archive", e.archive, "sums")
		e.run("ranges", e.ranges, "provider package")
		e.run("unknown provider", e.unknownProvider, "provider versions")
	}
	if e.o.Module != "" {
		e.run("module versions", e.moduleVersions, "discovery")
		e.run("module location", e.moduleLocation, "module versions")
		e.run("module package", e.modulePackage, "module location")
		e.run("unknown module", e.unknownModule, "module versions")
	}
}

// examiner is one call of Examine. Checks use results of checks before them.
type examiner struct {
	whole    context.Context // of the caller
	ctx      context.Context // of the check that runs
	o        Options
	findings []Finding
	check    string
	limit    time.Duration // of the check that runs
	count    map[Level]int // of its findings
	broken   bool          // later checks cannot rely on this check
	good     map[string]bool

	base     *url.URL // of the server
	services map[string]*url.URL
	pkg      checkedPackage
	module   checkedModule
	mirror   checkedMirror

	mirrorAlone bool // without a registry
}

// run makes a check if the checks that it needs have succeeded.
func (e *examiner) run(name string, do func() error, needs ...string) {
	e.check, e.count, e.broken = name, map[Level]int{}, false
	e.limit = cmp.Or(max(e.o.Timeout, 0), checkTimes[name], checkTime)
	if ended := context.Cause(e.whole); ended != nil {
		e.note(Failed, ended.Error())
		return
	}
	for _, need := range needs {
		if !e.good[need] {
			e.note(Skipped, "it needs the check "+need)
			return
		}
	}
	if err := e.within(do); err != nil {
		e.failf("%w", err)
	}
	e.good[name] = !e.broken
}

// within calls do with a context that ends after the time limit of the check.
func (e *examiner) within(do func() error) error {
	late := fmt.Errorf("no answer to the end within %v: the server hangs or is slow, see Options.Timeout", e.limit)
	ctx, cancel := context.WithTimeoutCause(e.whole, e.limit, late)
	defer cancel()
	e.ctx = ctx
	return do()
}

// failf notes a failure. Checks that need this one are skipped.
func (e *examiner) failf(format string, args ...any) {
	e.broken = true
	e.note(Failed, fmt.Errorf(format, args...).Error())
}

// insecure reports whether u must not be asked because it is an http URL. The file behind it is then
// not checked.
func (e *examiner) insecure(property string, u *url.URL) bool {
	if e.permitted(u) == nil {
		return false
	}
	e.note(Skipped, property+" is not an https URL, see Options.AllowHTTP")
	return true
}

// note adds a finding. A failure that it notes keeps no later check from running.
func (e *examiner) note(level Level, text string) {
	if e.count[level]++; e.count[level] == maxFindings+1 {
		text = "and more"
	} else if e.count[level] > maxFindings {
		return
	}
	e.findings = append(e.findings, Finding{e.check, level, weburl.Clean(weburl.RedactText(text), maxText)})
}
