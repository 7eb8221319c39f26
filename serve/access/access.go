// Package access describes what servers have served, for access logs and metrics. It is experimental.
//
//	mirror := &mirrorserve.Handler{Source: cache, Access: func(ctx context.Context, e access.Entry) {
//		slog.InfoContext(ctx, "served", "what", e.Subject(), "status", e.Status, "bytes", e.Bytes)
//	}}
//
// [github.com/tofureg/tofureg/serve/regserve.Handler] has the same field.
package access

import (
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// An Entry describes the answer to one request. There is none for a request that Authorize refused, or whose path no
// server can have.
type Entry struct {
	Kind Kind // what was requested

	Provider addrs.Provider // or zero
	Module   addrs.Module   // or zero
	Version  addrs.Version  // zero for lists
	Platform addrs.Platform // of a provider package, or zero

	Status   int           // of HTTP; 0 if none was sent
	Bytes    int64         // of the body
	Duration time.Duration // from arrival to the end of the answer
	Aborted  bool          // the connection ended early, after Status

	// Cache is Hit if the answer needed no request to the source, Miss if it needed one, and empty if the server has only
	// its files, or perhaps if a document has failed.
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
	Discovery      Kind = "discovery"       // services
	Versions       Kind = "versions"        // of a provider
	Package        Kind = "package"         // document of a registry
	Archives       Kind = "archives"        // document of a mirror
	Sums           Kind = "sums"            // SHA256SUMS
	Signature      Kind = "signature"       // of SHA256SUMS
	Archive        Kind = "archive"         // of a provider
	ModuleVersions Kind = "module versions" // list of versions
	ModuleLocation Kind = "module location" // of a package
	Module         Kind = "module"          // package
)

// Result says whether a cache had the answer.
type Result string

const (
	Hit  Result = "hit"  // without the source
	Miss Result = "miss" // with the source
)
