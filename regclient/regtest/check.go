package regtest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// CheckOptions says what [Check] and [Examine] look for at a server. The zero value
// checks discovery alone.
type CheckOptions struct {
	// Client makes the requests; nil means [http.DefaultClient]. Give one that trusts
	// the certificate of the server, as the Client method of an httptest.Server does. Its
	// redirects follow the rules of registries.
	Client *http.Client

	// Timeout bounds each check, so that a server that hangs does not hang the test. Zero
	// means 5 minutes for the checks of archives and of all versions of a mirror, and 30
	// seconds for every other one.
	Timeout time.Duration

	// Token is the token of a server that wants one. With it, the server must refuse
	// requests for lists of versions that have none. It goes to the host of the server and
	// of the services that it declares, or to that of the mirror if baseURL is empty; never
	// to files, but for the package of a module where use_registry_credentials is true.
	Token string

	// Provider is a provider that the server has, as "acme/alpha". Empty means that it
	// has none.
	Provider string
	// Version and Platform select the package that is fetched, as "1.2.0" and
	// "linux_amd64". Empty means the first that the server lists; a server that lists
	// no platforms is asked for linux_amd64.
	Version, Platform string

	// Module is a module that the server has, as "acme/network/aws". Empty means that
	// it has none.
	Module string
	// ModuleVersion is one of its versions; empty means the first that is listed.
	ModuleVersion string

	// Mirror is the base URL of a network mirror. Empty means that there is none.
	Mirror string
	// MirrorProvider is a provider that the mirror has, with its host, as
	// "registry.example.com/acme/alpha". Empty means Provider at the host of the
	// server.
	MirrorProvider string
}

// CheckLevel tells what a [Finding] means.
type CheckLevel string

// The levels of findings.
const (
	CheckFailed  CheckLevel = "failed"  // clients fail, or should
	CheckAdvice  CheckLevel = "advice"  // clients cope, but would be better off
	CheckSkipped CheckLevel = "skipped" // another check that failed has to succeed first
)

// A Finding is something that was found at a server.
type Finding struct {
	Check string     // the name of the check, see [Check]
	Level CheckLevel // what it means
	Text  string     // what was asked and what is wrong, in one line that is safe to print
}

// String returns the three in a line.
func (f Finding) String() string { return f.Check + ": " + string(f.Level) + ": " + f.Text }

// TB is what [Check] uses of a [*testing.T]. That this package does not import package
// testing keeps its flags out of programs that use a [Registry].
type TB interface {
	// Context ends when the test does.
	Context() context.Context
	// Helper marks the caller as one whose lines are not the place of an error.
	Helper()
	// Errorf fails the test and lets it go on.
	Errorf(format string, args ...any)
	// Logf shows what does not fail it.
	Logf(format string, args ...any)
}

// Check tells whether a real server follows the protocols, for those who write one. The
// baseURL is https://HOST, under which the server has its discovery document; it is empty
// for one that is a mirror and nothing else. What is wrong fails the test, and advice is
// logged. These are the checks:
//
//	discovery          the document is there, as JSON, with the services that are wanted
//	service URLs       they end with a slash; for modules advice, as clients cope
//	provider versions  the list can be read and has the version
//	provider package   the document is about the package, and complete
//	sums               the SHA256SUMS document lists the archive with the stated digest
//	signature          one of the stated keys made it, and is still good
//	archive            it has the digest and the hashes that are stated, and can be installed
//	ranges             parts of archives can be had; advice, as it is no part of the protocol
//	unknown provider   status 404 for a provider and a version that are not there
//	module versions    the list can be read and has the version
//	module location    the answer has a form that clients understand, and all see the same
//	module package     there is an archive, or a page, where the answer leads to, if over https
//	unknown module     status 404 for a module that is not there
//	mirror index       the list of versions can be read
//	mirror version     each version has its document, each archive a URL and, if any, hashes to check
//	mirror archive     an archive has a hash that is stated
//	authorization      status 401 without the token
//
// Nothing is changed at the server. Archives are fetched whole, up to 1 GiB, into temporary
// files. The names "regtest-unknown" and the version 0.0.0-regtest must not exist there. Of
// each check the first 20 failures are told, and the first 20 pieces of advice.
func Check(t TB, baseURL string, o CheckOptions) {
	t.Helper()
	for _, f := range Examine(t.Context(), baseURL, o) {
		if f.Level == CheckFailed {
			t.Errorf("%s: %s", f.Check, f.Text)
		} else {
			t.Logf("%v", f)
		}
	}
}

// Examine does what [Check] does and returns what it found, in the order of the checks.
// Nothing means that all is well. It is for programs, and for tests that want a subtest
// for each check.
func Examine(ctx context.Context, baseURL string, o CheckOptions) []Finding {
	e := &examiner{whole: ctx, o: o, good: map[string]bool{}, mirrorAlone: baseURL == "" && o.Mirror != ""}
	if !e.mirrorAlone {
		e.registry(baseURL)
	}
	if o.Mirror != "" {
		e.run("mirror index", e.mirrorIndex)
		e.run("mirror version", e.mirrorVersion, "mirror index")
		e.run("mirror archive", e.mirrorArchive, "mirror version")
	}
	if o.Token != "" {
		e.run("authorization", e.authorization)
	}
	return e.findings
}

// registry does the checks of a registry.
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

// examiner does one Examine. What one check finds out, later ones use.
type examiner struct {
	whole    context.Context // of the caller
	ctx      context.Context // of the check that runs
	o        CheckOptions
	findings []Finding
	check    string
	count    map[CheckLevel]int // of its findings
	good     map[string]bool

	base     *url.URL // of the server
	services map[string]*url.URL
	pkg      checkedPackage
	module   addrs.Module
	location string   // of its package
	asked    *url.URL // for the location
	mirror   checkedMirror

	mirrorAlone    bool // whether there is no other server
	direct         bool // whether the location is that of the registry itself
	tokenForModule bool // whether that wants the token
}

// run does a check if those that it needs have succeeded.
func (e *examiner) run(name string, do func() error, needs ...string) {
	e.check, e.count = name, map[CheckLevel]int{}
	if ended := context.Cause(e.whole); ended != nil {
		e.note(CheckFailed, ended.Error())
		return
	}
	for _, need := range needs {
		if !e.good[need] {
			e.note(CheckSkipped, "it needs the check "+need)
			return
		}
	}
	limit := cmp.Or(max(e.o.Timeout, 0), checkTimes[name], checkTime)
	late := fmt.Errorf("no answer to the end within %v: the server hangs or is slow, see CheckOptions.Timeout", limit)
	ctx, cancel := context.WithTimeoutCause(e.whole, limit, late)
	defer cancel()
	e.ctx = ctx
	if err := do(); err != nil {
		e.failf("%w", err)
	}
	e.good[name] = e.count[CheckFailed] == 0
}

func (e *examiner) failf(format string, args ...any) {
	e.note(CheckFailed, fmt.Errorf(format, args...).Error())
}

func (e *examiner) note(level CheckLevel, text string) {
	if e.count[level]++; e.count[level] == maxCheckFindings+1 {
		text = "and more"
	} else if e.count[level] > maxCheckFindings {
		return
	}
	e.findings = append(e.findings, Finding{e.check, level, printable(text)})
}
