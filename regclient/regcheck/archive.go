package regcheck

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/verify/checksum"
)

// inspect downloads an archive and compares it with the stated hashes and size. Every stated
// hash must match.
func (e *examiner) inspect(u *url.URL, stated []checksum.Hash, size int64, executable string) error {
	r, err := e.ask(u, false, "Accept", "*/*", "Accept-Encoding", "identity")
	if err != nil {
		return err
	}
	if err := r.wantStatus(http.StatusOK); err != nil {
		return err
	}
	defer r.Body.Close()
	f, err := os.CreateTemp("", "regcheck-*.zip")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	limits := checksum.Limits{Package: maxArchive, Unpacked: maxUnpacked}
	n, err := io.Copy(f, io.LimitReader(r.Body, maxArchive+1))
	if err != nil {
		return failed(r.ctx, u, err)
	}
	if n > maxArchive {
		return fmt.Errorf("%s: more than %d bytes", weburl.Redact(u), int64(maxArchive))
	}
	if size > 0 && n != size {
		e.failf("%s: %d bytes, but package_size is %d", weburl.Redact(u), n, size)
	}
	zh, err := checksum.ZH(r.ctx, io.NewSectionReader(f, 0, n))
	if err != nil {
		return err
	}
	packed, tree, err := checksum.H1Zip(r.ctx, f, n, limits)
	if err != nil {
		return fmt.Errorf("%s: cannot be installed: %w", weburl.Redact(u), err)
	}
	for _, h := range stated {
		if checkable(h) && h != zh && h != packed && h != tree {
			e.failf("%s: does not have the hash %s, but %s and %s", weburl.Redact(u), h, zh, packed)
		}
	}
	return hasExecutable(f, n, executable, weburl.Redact(u))
}

func (e *examiner) ranges() error {
	if e.insecure("download_url", e.pkg.url) {
		return nil
	}
	r, err := e.ask(e.pkg.url, false, "Accept", "*/*", "Range", "bytes=1-1")
	if err != nil {
		return nil // the check of the archive reports it
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusPartialContent {
		e.note(Advice, fmt.Sprintf("%s: status %d for a range request, want 206; clients cannot resume downloads", weburl.Redact(e.pkg.url), r.StatusCode))
	} else if tag := r.Header.Get("ETag"); (tag == "" || strings.HasPrefix(tag, "W/")) && r.Header.Get("Last-Modified") == "" {
		e.note(Advice, fmt.Sprintf("%s: no strong entity tag; clients that resume a download cannot detect a changed file", weburl.Redact(e.pkg.url)))
	}
	return nil
}

// hasExecutable returns an error if the archive does not have the executable of a provider.
func hasExecutable(r io.ReaderAt, size int64, name, where string) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	for _, f := range z.File {
		rest, ok := strings.CutPrefix(f.Name, name)
		if ok && path.Base(f.Name) == f.Name && (rest == "" || rest[0] == '_' || rest[0] == '.') {
			return nil
		}
	}
	return fmt.Errorf("%s: no executable: want a file %s, or one with _ or a dot after that name", where, name)
}
