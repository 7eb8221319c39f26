package mirrordir

import (
	"context"
	"io"
	"sync"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// pulls are the archives on their way from the source, each once.
type pulls struct {
	mu     sync.Mutex
	active map[request]*pull
}

// pull is one archive that arrives, and its readers. They read from a file while the
// archive is written to it, and the last byte only when it has been judged.
type pull struct {
	request request
	pkg     *provider.Package
	cancel  context.CancelFunc
	idle    chan struct{} // closed when the last reader has left
	settled chan struct{} // closed when nothing more will be done with the archive
	users   int           // belongs to the mutex of pulls

	mu      sync.Mutex
	changed chan struct{} // closed at each change of the following
	file    io.ReaderAt   // nil until there is something to read
	size    int64         // of the archive; negative: not known yet
	arrived int64         // bytes in file
	judged  bool          // and accepted
	err     error         // why nothing more will come
}

// join returns the pull of an archive, which the caller leaves. One that has been replaced
// since, at the source or in the mirror, is left to those who read it.
func (u *puller) join(ctx context.Context, q request, pkg *provider.Package) *pull {
	u.pulls.mu.Lock()
	defer u.pulls.mu.Unlock()
	p := u.pulls.active[q]
	if p == nil || !sameArchive(p.pkg, pkg) {
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p = &pull{
			request: q, pkg: pkg, cancel: cancel, size: -1,
			idle: make(chan struct{}), settled: make(chan struct{}), changed: make(chan struct{}),
		}
		if u.pulls.active == nil {
			u.pulls.active = map[request]*pull{}
		}
		u.pulls.active[q] = p
		go u.pull(work, p)
	}
	p.users++
	return p
}

// sameArchive reports whether both state the same archive, as far as they state any.
func sameArchive(there, wanted *provider.Package) bool {
	return tagOf(there) == tagOf(wanted) && len(foreign(wanted.Evidence().Hashes, there.Evidence().Hashes)) == 0
}

// stay joins a pull for the sake of who does something with the archive. It reports false
// if everybody has left.
func (u *puller) stay(p *pull) bool {
	u.pulls.mu.Lock()
	defer u.pulls.mu.Unlock()
	if p.users == 0 {
		return false
	}
	p.users++
	return true
}

// leave stops the pull if nobody else is interested.
func (u *puller) leave(p *pull) {
	u.pulls.mu.Lock()
	defer u.pulls.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	p.cancel()
	close(p.idle)
	u.forget(p)
}

// forget lets those who come later begin anew. The mutex must be held.
func (u *puller) forget(p *pull) {
	if u.pulls.active[p.request] == p {
		delete(u.pulls.active, p.request)
	}
}

// pull brings the archive and keeps it until the last reader has left.
func (u *puller) pull(ctx context.Context, p *pull) {
	release, err := u.bring(ctx, p)
	defer release()
	if err != nil {
		p.change(func() { p.err = err })
		u.pulls.mu.Lock()
		u.forget(p)
		u.pulls.mu.Unlock()
	}
	close(p.settled)
	<-p.idle
}

// bring opens the archive and, unless it is a file of a mirror, receives and judges it.
func (u *puller) bring(ctx context.Context, p *pull) (release func(), err error) {
	nothing := func() {}
	o, err := u.origin(ctx, p.pkg)
	if err != nil {
		return nothing, err
	}
	if err := o.pulling.take(ctx); err != nil {
		return nothing, err
	}
	arrived := sync.OnceFunc(o.pulling.give)
	defer arrived()
	body, err := o.Open(ctx, o.pkg)
	if err != nil && !o.judged {
		err = promised(err)
	}
	if err != nil {
		return nothing, err
	}
	if at, ok := body.ReadCloser.(io.ReaderAt); ok && o.judged && body.Size > 0 {
		if o.pkg.Size > 0 && o.pkg.Size != body.Size {
			body.Close()
			return nothing, failed("open", o.pkg.String(), &checksum.SizeError{Filename: o.pkg.Filename, Want: o.pkg.Size, Got: body.Size})
		}
		p.change(func() { p.file, p.size, p.arrived, p.judged = at, body.Size, body.Size, true })
		return func() { body.Close() }, nil
	}
	f, err := fsx.Temp(u.temp)
	if err != nil {
		body.Close()
		return nothing, err
	}
	p.change(func() {
		p.file = f
		if body.Size > 0 {
			p.size = body.Size
		}
	})
	return f.Discard, u.receive(ctx, p, o, f, body, arrived)
}

// arrival is an archive that has arrived and was accepted.
type arrival struct {
	*provider.Received
	pkg  *provider.Package
	file *fsx.TempFile
}

// receive calls arrived when the archive has been judged, before it is kept.
func (u *puller) receive(ctx context.Context, p *pull, o *origin, f *fsx.TempFile, body *provider.Body, arrived func()) error {
	src := &pulled{o.Fetcher, p, body}
	got, err := provider.Receive(ctx, src, o.pkg, f.File, provider.Options{Policy: o.policy, WantEvidence: o.keep != nil})
	if src.body != nil {
		src.body.Close() // it was refused before it was read
	}
	if err != nil && !o.judged {
		err = promised(err)
	}
	if err != nil {
		return err
	}
	if _, err := got.Judge(ctx, o.policy); err != nil {
		return failed("verify", o.pkg.String(), err)
	}
	// From here on it is of use even if nobody waits for it. Those who come while it is
	// being kept find it here, and later in the mirror.
	stays := o.keep != nil && u.stay(p)
	p.change(func() { p.size, p.arrived, p.judged = got.Size, got.Size, true })
	if stays {
		// Whoever has locked the version may take as long as its archives do.
		arrived()
		o.keep(context.WithoutCancel(ctx), &arrival{got, o.pkg, f})
		u.leave(p)
	}
	return nil
}
