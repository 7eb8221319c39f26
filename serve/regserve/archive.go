package regserve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/verify/checksum"
)

func (h *Handler) archive(w http.ResponseWriter, r *http.Request, of access.Entry) error {
	pkg, _, err := h.pkg(r, of)
	if err != nil {
		return err
	}
	if done, err := webserve.Redirect(w, r, h.Archive, pkg); done || err != nil {
		return err
	}
	s := &stream{handler: h, contentType: "application/zip", open: func(ctx context.Context) (io.ReadCloser, int64, error) {
		body, err := h.providers.Open(ctx, pkg)
		if err != nil {
			return nil, 0, err
		}
		return body.ReadCloser, body.Size, nil
	}}
	tag := ""
	if s.want = pkg.SHA256; !s.want.IsZero() {
		tag = `"` + s.want.Value() + `"`
	}
	return s.serve(w, r, tag, pkg.Size)
}

// A stream passes an archive on while it arrives.
type stream struct {
	handler     *Handler
	contentType string
	want        checksum.Hash // zh of the archive; zero if not stated
	open        func(context.Context) (body io.ReadCloser, size int64, err error)
}

// serve sends the archive, or a part of it if its hash is stated. If the source fails, or the hash does not match, the
// connection breaks before the last byte, so that clients and caches do not use the bytes.
func (s *stream) serve(w http.ResponseWriter, r *http.Request, tag string, size int64) error {
	if webserve.ArchiveHeader(w, r, s.contentType, tag, size) {
		return nil
	}
	webserve.Note(r.Context(), webserve.Asked)
	body, size, err := s.open(r.Context())
	if err != nil {
		return webserve.AsInconsistent(err)
	}
	defer body.Close()
	checked := &checkedReader{body: body, left: s.handler.Limits.Effective().Package, want: s.want, sum: sha256.New()}
	if tag == "" { // the next answer may be another archive
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	// The end of an HTTP/1.0 answer of unknown length is the end of the connection, so a client or a cache
	// would take a part for the whole.
	if r = webserve.OneRange(r); r.Header.Get("Range") == "" && (size > 0 || r.ProtoAtLeast(1, 1)) {
		return s.handler.server.SendArchive(w, r, checked, size)
	}
	if file, ok := body.(io.ReadSeeker); ok {
		if size, err = io.Copy(io.Discard, checked); err != nil {
			return err
		}
		return s.handler.server.SendArchive(w, r, file, size)
	}
	f, err := fsx.Temp(s.handler.TempDir)
	if err != nil {
		return err
	}
	defer f.Discard()
	if size, err = io.Copy(f, checked); err != nil {
		return err
	}
	return s.handler.server.SendArchive(w, r, f, size)
}

// checkedReader reads an archive within a limit, and its last byte only if it has the stated hash. It needs buffers of two
// bytes.
type checkedReader struct {
	body io.Reader
	left int64         // bytes that are permitted
	want checksum.Hash // zero if not stated
	sum  hash.Hash
	held []byte // the last byte so far
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return 0, io.ErrShortBuffer
	}
	n := copy(p, c.held)
	got, err := c.body.Read(p[n:])
	_, _ = c.sum.Write(p[n : n+got])
	n += got
	if c.left -= int64(got); c.left < 0 {
		return 0, fmt.Errorf("the archive exceeds Limits.Package: %w", failure.ErrTooLarge)
	}
	if err == io.EOF {
		if zh := checksum.ZHSum([32]byte(c.sum.Sum(nil))); !c.want.IsZero() && zh != c.want {
			return 0, &checksum.MismatchError{Source: "hashes stated by the source", Want: []checksum.Hash{c.want}, Got: []checksum.Hash{zh}}
		}
		c.held = nil
		return n, io.EOF
	}
	if n == 0 || err != nil {
		return 0, err
	}
	c.held = append(c.held[:0], p[n-1])
	return n - 1, nil
}
