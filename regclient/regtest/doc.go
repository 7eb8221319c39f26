// Package regtest is a registry of providers and modules in memory, for the
// tests of programs that talk to OpenTofu or Terraform registries and mirrors.
// It is to those what net/http/httptest is to HTTP:
//
//	reg := regtest.New("registry.example.com")
//	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
//	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
//	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
//
// What it serves is real: archives, a SHA256SUMS document, a detached OpenPGP
// signature by a fresh key. Contents are the same in every run, keys are not.
//
// # Three ways in
//
// A [Registry] is an [net/http.RoundTripper]. [Registry.Client] wraps it in a
// client that reaches the registry under its name with neither a port nor TLS
// nor a goroutine. Bodies are streamed, contexts are honoured, and all waiting
// is done on the clock of the caller, so that a test inside a testing/synctest
// bubble can let minutes pass at once. Every other host name answers too, which
// makes it a place to redirect to or to download from; only discovery says 404
// there.
//
// A Registry is also an [net/http.Handler], which answers under whatever Host
// it is asked for. [Registry.ServeTLS] starts a listener on the loopback
// interface with a certificate of its own, for programs that cannot be handed a
// client, such as terraform and tofu themselves.
//
// # What is asked
//
// The registry knows five protocols: discovery, that of provider registries,
// that of module registries, that of network mirrors, where the providers of
// all hosts are offered once more, and, with [Registry.Login], that by which a
// program gets a token. Each of their requests has a [Kind]:
//
//	GET /.well-known/terraform.json                            Discovery
//
//	GET /v1/providers/NAMESPACE/TYPE/versions                  Versions
//	GET /v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH  Package
//	GET …_SHA256SUMS                                           Sums
//	GET …_SHA256SUMS.sig                                       Signature
//	GET ….zip                                                  Archive
//
//	GET /v1/modules/NAMESPACE/NAME/SYSTEM/versions             ModuleVersions
//	GET /v1/modules/NAMESPACE/NAME/SYSTEM/VERSION/download     ModuleLocation
//	GET …/page-1?terraform-get=1                               ModulePage
//	GET ….tar.gz                                               ModulePackage
//
//	GET /mirror/HOST/NAMESPACE/TYPE/index.json                 MirrorIndex
//	GET /mirror/HOST/NAMESPACE/TYPE/VERSION.json               MirrorVersion
//	GET /mirror/HOST/NAMESPACE/TYPE/….zip                      Archive
//
//	GET /oauth/authorization                                   LoginAuthz
//	POST /oauth/token                                          LoginToken
//
// Files have strong entity tags and can be had in ranges. HEAD gets 404, as it
// does at real registries that know only GET. [Registry.Requests] is the record
// of all that was asked, tokens included.
//
// # What goes wrong
//
// [Provider] and [Module] describe what a registry may offer, including versions
// that are none, missing sums, keys that expired, and packages that are
// elsewhere. [ModuleList] and [Mirror] describe the habits of servers, [Caching]
// what they say to caches. [Fault] describes how an answer departs from the plain
// one: late, broken off, refused, redirected, altered. [Registry.Require] asks for
// a token.
//
// The troubles that a program should survive, and the fields of a Fault that make
// them:
//
//	no answer, a lost connection             Delay, Drop
//	reset, truncation, silence, a trickle    Break with Cut, Short, Stall; Pause, Rate
//	a server that is busy                    Status 429 or 503, RetryAfter, Header X-Ratelimit-Reset
//	one that fails now and then              Skip, Every, First
//	a file that changes meanwhile            Changed with Skip
//	ranges ignored or answered wrongly       Part
//	no validator, or a weak one              Header Etag
//	no length, or a wrong one                Header Content-Length
//	damaged bytes                            Corrupt
//	a presigned URL beside a token           RefuseToken
//	a document without end, a bomb           PadTo, Gzip
//	JSON with nulls, duplicates, wrong types, depth, invalid UTF-8, a byte order
//	mark, text behind it, control characters Raw, Edit
//	a login page, another media type         Raw, Header Content-Type
//	redirects: elsewhere, to http, to other schemes, without end
//	                                         Redirect, Hops
//	another version or file in its place     Instead
//
// # Beside it
//
// Package [github.com/tofureg/tofureg/regclient/regcheck] checks a real server.
// Package [github.com/tofureg/tofureg/regclient/regtest/vectors] has documents and names of
// all sorts, with what a client must make of them, for tests in any language.
//
// See https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/,
// https://opentofu.org/docs/internals/module-registry-protocol/,
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/ and
// https://opentofu.org/docs/internals/login-protocol/.
//
// The package is for tests. A mistake in the calls that set a registry up, such
// as an address that is none, is a panic, as in httptest. No request makes it
// panic.
package regtest
