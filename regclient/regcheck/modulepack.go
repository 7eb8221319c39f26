package regcheck

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/internal/weburl"
)

// modulePackage checks the package, unless the location needs another protocol than HTTP.
func (e *examiner) modulePackage() error {
	m := &e.module
	relative := strings.HasPrefix(m.location, ".") || strings.HasPrefix(m.location, "/")
	if !relative && !hasScheme(m.location, "https") && !hasScheme(m.location, "http") {
		return nil
	}
	ref := withoutSubdir(m.location)
	u, err := resolve(m.asked, "location", withoutSettings(ref))
	if err != nil {
		return err
	}
	if e.insecure("location", u) {
		return nil
	}
	if !m.direct && !saysArchive(ref) {
		// As clients do. Without it the server may send another page.
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&terraform-get=1", "&")
	}
	r, err := e.ask(u, m.token, "Accept", "*/*", "Accept-Encoding", "identity")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if err := r.wantStatus(http.StatusOK, http.StatusNoContent); err != nil {
		return err
	}
	if r.Header.Get("X-Terraform-Get") != "" {
		return nil
	}
	start := make([]byte, 4096)
	n, err := io.ReadFull(r.Body, start)
	if err != nil && r.ctx.Err() != nil {
		return failed(r.ctx, u, err)
	}
	start = start[:n]
	for _, magic := range []string{"PK\x03\x04", "\x1f\x8b", "\xfd7zXZ\x00", "BZh"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return nil
		}
	}
	if bytes.Contains(bytes.ToLower(start), []byte("terraform-get")) {
		return nil
	}
	return fmt.Errorf("%s: neither an archive (zip, or tar with gzip, xz or bzip2) nor a page with a location", weburl.Redact(u))
}

// withoutSubdir removes what follows two slashes, but keeps the query.
func withoutSubdir(s string) string {
	s, query, has := strings.Cut(s, "?")
	start := 0
	if i := strings.Index(s, "://"); i >= 0 {
		start = i + len("://")
	} else if strings.HasPrefix(s, "//") {
		start = len("//")
	}
	if i := strings.Index(s[start:], "//"); i >= 0 {
		s = s[:start+i]
	}
	if has {
		s += "?" + query
	}
	return s
}

// withoutSettings removes the parts of the query that are for clients.
func withoutSettings(s string) string {
	s, query, has := strings.Cut(s, "?")
	if !has {
		return s
	}
	pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "archive" || name == "checksum" || name == "filename"
	})
	if len(pairs) == 0 {
		return s
	}
	return s + "?" + strings.Join(pairs, "&")
}

// archiveNames are the formats in the parameter "archive" and at the end of paths.
var archiveNames = []string{
	"zip", "tar.gz", "tgz", "gz", "tar.bz2", "tar.tbz2", "tbz2", "bz2", "tar.xz", "txz", "xz",
}

// saysArchive reports whether clients expect an archive at a location. Otherwise they expect a
// page.
func saysArchive(s string) bool {
	s, query, _ := strings.Cut(s, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); name == "archive" && value != "" {
			return slices.Contains(archiveNames, value)
		}
	}
	return slices.ContainsFunc(archiveNames, func(name string) bool { return strings.HasSuffix(s, "."+name) })
}
