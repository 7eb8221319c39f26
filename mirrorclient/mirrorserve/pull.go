package mirrorserve

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// pull is one archive that arrives, and its readers. They read from a file while the
// archive is written to it, and the last byte only when it has been judged.
type pull struct {
	request request
	pkg     *provider.Package
	cancel  context.CancelFunc
	idle    chan struct{} // closed when the last reader has left
	settled chan struct{} // closed when nothing more will be done with the archive
	users   int           // belongs to the mutex of the puller

	mu      sync.Mutex
	changed chan struct{} // closed at each change of the following
	file    io.ReaderAt   // nil until there is something to read
	size    int64         // of the archive; negative: not known yet
	begun   bool          // it has begun to arrive
	arrived int64         // bytes in file
	judged  bool          // and accepted
	err     error         // why nothing more will come
}

// join returns the pull of an archive, which the caller leaves. One that has been replaced
// since, at the source or in the mirror, is left to those who read it.
func (u *puller) join(ctx context.Context, q request, pkg *provider.Package) *pull {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.pulls[q]
	if p == nil || !sameArchive(p.pkg, pkg) {
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p = &pull{
			request: q, pkg: pkg, cancel: cancel, size: -1,
			idle: make(chan struct{}), settled: make(chan struct{}), changed: make(chan struct{}),
		}
		if u.pulls == nil {
			u.pulls = map[request]*pull{}
		}
		u.pulls[q] = p
		go u.pull(work, p)
	}
	p.users++
	return p
}

// sameArchive reports whether both state the same archive, as far as they state any.
func sameArchive(there, wanted *provider.Package) bool {
	known := there.Evidence().Hashes
	for _, h := range wanted.Evidence().Hashes {
		if same := checksum.WithScheme(known, h.Scheme()); len(same) > 0 && !checksum.Overlap(same, []checksum.Hash{h}) {
			return false
		}
	}
	return tagOf(there) == tagOf(wanted)
}

// stay joins a pull for the sake of who does something with the archive. It reports false
// if everybody has left.
func (u *puller) stay(p *pull) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.users == 0 {
		return false
	}
	p.users++
	return true
}

// leave stops the pull if nobody else is interested.
func (u *puller) leave(p *pull) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	p.cancel()
	close(p.idle)
	u.forget(p)
}

// forget lets those who come later begin anew. The mutex must be held.
func (u *puller) forget(p *pull) {
	if u.pulls[p.request] == p {
		delete(u.pulls, p.request)
	}
}

// pull brings the archive and keeps it until the last reader has left.
func (u *puller) pull(ctx context.Context, p *pull) {
	release, err := u.bring(ctx, p)
	defer release()
	if err != nil {
		p.change(func() { p.err = err })
		u.mu.Lock()
		u.forget(p)
		u.mu.Unlock()
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
	if o.local {
		body, err := o.open(ctx)
		if err != nil {
			return nothing, err
		}
		p.change(func() { p.file, p.size, p.judged = body.ReadCloser.(io.ReaderAt), body.Size, true })
		return func() { body.Close() }, nil
	}
	if u.held.Acquire(ctx, 1) != nil {
		return nothing, fault.Ended(ctx)
	}
	s, err := u.stage(ctx)
	if err != nil {
		u.held.Release(1)
		return nothing, err
	}
	release = sync.OnceFunc(func() {
		s.Discard()
		u.held.Release(1)
	})
	return release, u.receive(ctx, p, o, s)
}

// open opens an archive that is a file of a mirror, and must have the size that is stated.
func (o *origin) open(ctx context.Context) (*provider.Body, error) {
	body, err := o.Open(ctx, o.pkg)
	if err != nil {
		return nil, err
	}
	if _, ok := body.ReadCloser.(io.ReaderAt); !ok {
		err = errors.New("the storage of the mirror is local, and its files cannot be read in any order")
	} else if o.pkg.Size > 0 && o.pkg.Size != body.Size {
		err = &checksum.SizeError{Filename: o.pkg.Filename, Want: o.pkg.Size, Got: body.Size}
	}
	if err != nil {
		body.Close()
		return nil, failed("open", o.pkg, err)
	}
	return body, nil
}

// receive brings the archive when it is its turn, has the policy judge it and, if that is
// wanted, keeps it.
func (u *puller) receive(ctx context.Context, p *pull, o *origin, s mirrordir.Staged) error {
	if o.arriving.Acquire(ctx, 1) != nil {
		return fault.Ended(ctx)
	}
	arrived := sync.OnceFunc(func() { o.arriving.Release(1) })
	defer arrived()
	p.change(func() { p.file = s.File() })
	got, err := provider.Receive(ctx, o.Fetcher, o.pkg, s.File(), provider.Options{Policy: o.policy, WantEvidence: o.keep != nil, Arrived: p.reached})
	switch {
	case err != nil && o.mirrored:
		return err // an archive can be removed from a mirror at any time
	case err != nil:
		return promised(err)
	}
	if _, err := got.Judge(ctx, o.policy); err != nil {
		return failed("verify", o.pkg, err)
	}
	// From here on it is of use even if nobody waits for it. Those who come while it is
	// being kept find it here, and later in the mirror.
	stays := o.keep != nil && u.stay(p)
	p.change(func() { p.size, p.arrived, p.judged = got.Size, got.Size, true })
	if stays {
		// Whoever has locked the version may take as long as its archives do.
		arrived()
		o.keep(context.WithoutCancel(ctx), s, o.pkg, got)
		u.leave(p)
	}
	return nil
}
