package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// pulls are the archives on their way from the source, each once.
type pulls struct {
	mu     sync.Mutex
	active map[request]*pull
}

// pull is one archive that arrives, and its readers. They read from a file while the
// archive is written to it, and the last byte only when it has been judged.
type pull struct {
	pkg    *provider.Package
	cancel context.CancelFunc
	idle   chan struct{} // closed when the last reader has left
	users  int           // belongs to the mutex of pulls

	mu      sync.Mutex
	changed chan struct{} // closed at each change of the following
	file    io.ReaderAt   // nil until there is something to read
	size    int64         // of the archive; negative: not known yet
	arrived int64         // bytes in file
	judged  bool          // and accepted
	err     error         // why nothing more will come
}

// join returns the pull of an archive, which the caller leaves.
func (h *Handler) join(ctx context.Context, q request, pkg *provider.Package) *pull {
	h.pulls.mu.Lock()
	defer h.pulls.mu.Unlock()
	p := h.pulls.active[q]
	if p == nil {
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p = &pull{pkg: pkg, cancel: cancel, idle: make(chan struct{}), changed: make(chan struct{}), size: -1}
		if h.pulls.active == nil {
			h.pulls.active = map[request]*pull{}
		}
		h.pulls.active[q] = p
		go h.pull(work, q, p)
	}
	p.users++
	return p
}

// leave stops the pull if nobody else is interested.
func (h *Handler) leave(q request, p *pull) {
	h.pulls.mu.Lock()
	defer h.pulls.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	p.cancel()
	close(p.idle)
	h.forget(q, p)
}

// forget lets those who come later begin anew. The mutex must be held.
func (h *Handler) forget(q request, p *pull) {
	if h.pulls.active[q] == p {
		delete(h.pulls.active, q)
	}
}

// pull brings the archive and keeps it until the last reader has left.
func (h *Handler) pull(ctx context.Context, q request, p *pull) {
	release, err := h.bring(ctx, p)
	defer release()
	if err != nil {
		p.change(func() { p.err = err })
		h.pulls.mu.Lock()
		h.forget(q, p)
		h.pulls.mu.Unlock()
	}
	<-p.idle
}

// bring opens the archive and, if it is not on this machine, receives and judges it.
func (h *Handler) bring(ctx context.Context, p *pull) (release func(), err error) {
	if err := h.pulling.take(ctx); err != nil {
		return func() {}, err
	}
	defer h.pulling.give()
	body, err := h.Source.Open(ctx, p.pkg)
	if err != nil {
		return func() {}, err
	}
	if at, ok := body.ReadCloser.(io.ReaderAt); ok && body.Size > 0 {
		if p.pkg.Size > 0 && p.pkg.Size != body.Size {
			body.Close()
			return func() {}, failed("open", p.pkg.String(), &verify.SizeError{Filename: p.pkg.Filename, Want: p.pkg.Size, Got: body.Size})
		}
		p.change(func() { p.file, p.size, p.arrived, p.judged = at, body.Size, body.Size, true })
		return func() { body.Close() }, nil
	}
	f, err := fsx.Temp(h.TempDir)
	if err != nil {
		body.Close()
		return func() {}, err
	}
	p.change(func() {
		p.file = f
		if body.Size > 0 {
			p.size = body.Size
		}
	})
	return f.Discard, h.receive(ctx, p, f.File, body)
}

func (h *Handler) receive(ctx context.Context, p *pull, f *os.File, body *provider.Body) error {
	src, policy := &pulled{h.Source, p, body}, h.Policy
	if _, ok := h.Source.(catalogue); ok {
		policy = verify.Policy{AllowUnchecked: true, Limits: policy.Limits}
	}
	got, err := provider.Receive(ctx, src, p.pkg, f, provider.Options{Policy: policy})
	if src.body != nil {
		src.body.Close() // it was refused before it was read
	}
	if err != nil {
		return err
	}
	local := []verify.Hash{got.ZH}
	if policy.NeedsH1(got.Evidence, got.ZH) {
		packed, tree, err := verify.H1Zip(f, got.Size, policy.Limits)
		if err != nil {
			return failed("verify", p.pkg.String(), err)
		}
		local = append(local, packed, tree)
	}
	if _, err := policy.Judge(got.Evidence, got.Size, local); err != nil {
		return failed("verify", p.pkg.String(), err)
	}
	p.change(func() { p.size, p.arrived, p.judged = got.Size, got.Size, true })
	return nil
}

// change makes a change and wakes the readers.
func (p *pull) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until ready is true, or nothing more will come. It is called with the
// mutex held.
func (p *pull) await(ctx context.Context, ready func() bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ready() {
		if p.err != nil {
			return p.err
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// readable returns how much of the archive may be read. The mutex must be held.
func (p *pull) readable() int64 {
	if p.judged {
		return p.size
	}
	return min(p.arrived, p.size-1)
}

// pulled is the source of one archive, which is open already.
type pulled struct {
	provider.Fetcher
	pull *pull
	body *provider.Body
}

// Open implements provider.Fetcher.
func (s *pulled) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body := s.body
	if body == nil {
		// What has been passed on cannot be taken back.
		return nil, errors.New("the archive has changed on the way")
	}
	s.body = nil
	counted := *body
	counted.ReadCloser = &countingBody{ReadCloser: body.ReadCloser, pull: s.pull}
	return &counted, nil
}

// countingBody tells the readers how much of a body has been written.
type countingBody struct {
	io.ReadCloser
	pull *pull
	read int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	// Who asks for more has written what it had.
	if b.read > 0 {
		b.pull.change(func() { b.pull.arrived = b.read })
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	return n, err
}

// pullReader reads an archive, as far as it has come.
type pullReader struct {
	ctx    context.Context
	pull   *pull
	size   int64
	offset int64
	err    error // why the archive cannot be read to its end
}

// Read implements io.Reader.
func (r *pullReader) Read(b []byte) (int, error) {
	if r.offset >= r.size {
		return 0, io.EOF
	}
	var readable int64
	var file io.ReaderAt
	r.err = r.pull.await(r.ctx, func() bool {
		readable, file = r.pull.readable(), r.pull.file
		return readable > r.offset
	})
	if r.err != nil {
		return 0, r.err
	}
	n, err := file.ReadAt(b[:min(int64(len(b)), readable-r.offset)], r.offset)
	r.offset += int64(n)
	if err == io.EOF && n > 0 {
		err = nil
	}
	r.err = err
	return n, err
}

// Seek implements io.Seeker.
func (r *pullReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d", offset)
	}
	r.offset = offset
	return offset, nil
}
