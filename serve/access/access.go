// Package access describes what servers have served, for access logs and metrics. It is a
// package of its own because both servers and what reads their entries need it. It is experimental.
//
//	mirror := &mirrorserve.Handler{Source: cache, Access: func(ctx context.Context, e access.Entry) {
//		slog.InfoContext(ctx, "served", "kind", e.Kind, "what", e.Subject(), "status", e.Status, "bytes", e.Bytes, "cache", e.Cache)
//	}}
//
// The field Access of [github.com/tofureg/tofureg/serve/regserve.Handler] and of
// [github.com/tofureg/tofureg/serve/mirrorserve.Handler] is such a function.
package access

import (
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// An Entry describes the answer to one request. There is none for a request that Authorize refused, or whose path
// names nothing that a server could have.
type Entry struct {
	Kind Kind // such as Archive

	Provider addrs.Provider // the requested provider, or zero
	Module   addrs.Module   // the requested module, or zero
	Version  addrs.Version  // zero for lists
	Platform addrs.Platform // of a package of a provider, or zero

	Status   int           // HTTP status, such as 200, 304 or 404; 0 if none was sent
	Bytes    int64         // sent bytes of the body
	Duration time.Duration // from the arrival of the request to the end of the answer
	Aborted  bool          // whether the connection ended before the body; Status was sent before

	// Cache is Hit if the answer needed no request to the source, Miss if it needed one, and empty if there
	// is nothing between the server and its files. It may be empty if a document has failed.
	Cache Result
}

// Subject returns what was requested, such as "registry.opentofu.org/acme/demo 1.0.0 linux_amd64", or "".
func (e Entry) Subject() string {
	var of string
	if !e.Provider.IsZero() {
		of = e.Provider.String()
	} else if !e.Module.IsZero() {
		of = e.Module.String()
	}
	return strings.TrimSpace(of + " " + e.Version.String() + " " + e.Platform.String())
}

// Kind is the kind of what was requested.
type Kind string

const (
	Discovery      Kind = "discovery"       // services of a registry
	Versions       Kind = "versions"        // list of the versions of a provider
	Package        Kind = "package"         // document about one package of a registry
	Archives       Kind = "archives"        // document of a mirror about the packages of a version
	Sums           Kind = "sums"            // SHA256SUMS document
	Signature      Kind = "signature"       // signature of SHA256SUMS
	Archive        Kind = "archive"         // package of a provider
	ModuleVersions Kind = "module versions" // list of the versions of a module
	ModuleLocation Kind = "module location" // location of the package of a module
	Module         Kind = "module"          // package of a module
)

// Result says whether a cache had the answer.
type Result string

const (
	Hit  Result = "hit"  // without a request to the source
	Miss Result = "miss" // the source was asked
)
