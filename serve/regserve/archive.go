package regserve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

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

// serve sends the archive, or a part of it if its hash is stated. If
// the source fails, or the hash does not match, serve breaks the connection before the last
// bytes, so that clients and caches do not use the bytes.
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
	if tag == "" { // the next answer may be another archive
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	// The end of an HTTP/1.0 answer of unknown length is the end of the connection, so a client or a cache
	// would take a part for the whole.
	if r = webserve.OneRange(r); r.Header.Get("Range") != "" || size <= 0 && !r.ProtoAtLeast(1, 1) {
		return s.serveVerified(w, r, body)
	}
	if size > 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if err := s.copy(w, body); err != nil {
		if s.handler.Logger != nil && r.Context().Err() == nil {
			s.handler.Logger.Warn("registry archive broke off", "path", r.URL.Path, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// copy delays each piece until the next has arrived, and the last until the hash is verified.
func (s *stream) copy(w io.Writer, body io.Reader) error {
	sum, last, left := sha256.New(), 0, s.handler.Limits.Effective().Package
	var buffers [2][64 << 10]byte
	for i := 0; ; i = 1 - i {
		n, err := io.ReadFull(body, buffers[i][:])
		_, _ = sum.Write(buffers[i][:n])
		if left -= int64(n); left < 0 {
			return fmt.Errorf("%w: more than %d bytes", failure.ErrTooLarge, s.handler.Limits.Effective().Package)
		}
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return err
		}
		if end && !s.want.IsZero() {
			if got := checksum.ZHSum([32]byte(sum.Sum(nil))); got != s.want {
				return &checksum.MismatchError{Source: "hashes stated by the source", Want: []checksum.Hash{s.want}, Got: []checksum.Hash{got}}
			}
		}
		if _, err := w.Write(buffers[1-i][:last]); err != nil {
			return err
		}
		if last = n; end {
			_, err := w.Write(buffers[i][:n])
			return err
		}
	}
}

// serveVerified sends the archive, or a part, after the whole archive is verified.
func (s *stream) serveVerified(w http.ResponseWriter, r *http.Request, body io.Reader) error {
	f, err := fsx.Temp(s.handler.TempDir)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := s.copy(f, body); err != nil {
		return err
	}
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}
