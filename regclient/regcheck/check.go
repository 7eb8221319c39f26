// Package regcheck checks whether a server follows the protocols of OpenTofu and Terraform registries
// and network mirrors. It is for tests by the author of the server:
//
//	func TestServer(t *testing.T) {
//		server := httptest.NewTLSServer(handler)
//		defer server.Close()
//		regcheck.Check(t, server.URL, regcheck.Options{Client: server.Client(), Provider: "acme/alpha"})
//	}
//
// Check never changes anything at the server. The specifications are at
// https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/,
// https://opentofu.org/docs/internals/module-registry-protocol/ and
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/.
package regcheck

import (
	"context"
	"net/http"
	"time"
)

// Options describes the server that [Check] and [Examine] look at. With the zero value, they check
// discovery only.
type Options struct {
	// Client makes the requests. If nil, [http.DefaultClient] is used. The Client method of an
	// httptest.Server returns one that trusts the certificate of that server. Redirects follow the
	// rules of registries, whatever CheckRedirect says.
	Client *http.Client

	// Timeout is the maximum duration of each check, and of each archive that a check downloads. If
	// zero or negative, 5 minutes are used for archives and for the documents of a mirror, and 30
	// seconds for every other check.
	Timeout time.Duration

	// AllowHTTP accepts http URLs of files, services and redirects, as the CLIs do. Requests for such
	// URLs never carry the token. If false, an http URL is a failure and its file is not checked. The
	// base URLs of the server and the mirror must be https in any case.
	AllowHTTP bool

	// Token is the API token of a server that wants one. If set, the server must refuse requests for
	// lists of versions without the token. The token is sent to the host of the server and to the
	// hosts of its services, or to the host of the mirror if the base URL is empty. It is not sent to
	// files, except to a module package for which use_registry_credentials is true.
	Token string

	// Provider is a provider in the registry, such as "acme/alpha". If empty, providers are not checked.
	Provider string
	// Version and Platform select the provider package, such as "1.2.0" and "linux_amd64". If empty,
	// the first listed version and platform are used, and linux_amd64 if the list has no platforms.
	Version, Platform string

	// Module is a module in the registry, such as "acme/network/aws". If empty, modules are not checked.
	Module string
	// ModuleVersion is a version of Module. If empty, the first listed version is used.
	ModuleVersion string

	// Mirror is the base URL of a network mirror. If empty, no mirror is checked.
	Mirror string
	// MirrorProvider is a provider in the mirror, such as "registry.example.com/acme/alpha". If empty,
	// Provider at the host of the base URL is used.
	MirrorProvider string
}

// Level is the severity of a [Finding].
type Level string

// The levels of findings.
const (
	Failed  Level = "failed"  // clients fail, or should
	Advice  Level = "advice"  // clients cope, but would be better off
	Skipped Level = "skipped" // another check has to succeed first
)

// A Finding is something that a check found at a server.
type Finding struct {
	Check string // name of the check, see [Check]
	Level Level  // severity
	Text  string // request and problem, in one line that is safe to print
}

// String returns the check, the level and the text in one line.
func (f Finding) String() string { return f.Check + ": " + string(f.Level) + ": " + f.Text }

// TB is the part of [testing.TB] that [Check] uses. Package regcheck does not import package
// testing, so programs that use [Examine] do not get its flags.
type TB interface {
	// Context returns a context that ends with the test.
	Context() context.Context
	// Helper marks the caller as a test helper function.
	Helper()
	// Errorf marks the test as failed and continues.
	Errorf(format string, args ...any)
	// Logf prints text without failing the test.
	Logf(format string, args ...any)
}

// Check checks a real server and reports failures as errors of the test, and advice in its log. The
// base URL is https://HOST, where HOST has the discovery document. It is empty for a server that is
// only a mirror. Check makes these checks:
//
//	discovery                the document is there, as JSON, with the services that are wanted
//	service URLs             they end with a slash; for modules advice, as clients cope
//	provider versions        the list can be read and has the version
//	provider package         the document is about the package, and complete
//	sums                     the SHA256SUMS document lists the archive with the stated digest
//	signature                one of the stated keys made it, and is still good
//	archive                  it has the digest and the hashes that are stated, and can be installed
//	ranges                   the server answers requests for a range; advice, as the protocol does not ask for it
//	unknown provider         status 404 for an unknown provider and an unknown version
//	module versions          the list can be read and has the version
//	module location          all clients find the same location, in a form that they understand
//	module package           the location leads to an archive, or to a page with another location
//	unknown module           status 404 for an unknown module
//	mirror index             the list of versions can be read
//	mirror version           each version has its document, each archive a URL and, if any, hashes to check
//	mirror archive           one archive of each version has a hash that is stated
//	unknown mirror provider  status 404 for an unknown provider
//	authorization            status 401 without the token
//
// Archives of up to 1 GiB are downloaded to temporary files. The server must not have the namespace
// "regcheck-unknown" or the version 0.0.0-regcheck. Check reports at most 20 failures and 20 pieces of
// advice for each check.
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

// Examine makes the same checks as [Check] and returns the findings in the order of the checks. An
// empty result means that all checks succeeded. It is for programs, and for tests with a subtest for
// each check.
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
