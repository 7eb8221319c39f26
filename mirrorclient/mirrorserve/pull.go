package mirrorserve

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/webserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// pull is the download of one archive and its readers. They read from the file while it is written,
// and the last byte only after verification.
type pull struct {
	request request
	pkg     *provider.Package
	cancel  context.CancelFunc
	idle    chan struct{} // closed when the last reader has left
	settled chan struct{} // closed when the archive is kept or dropped
	users   int           // guarded by the mutex of the puller

	mu      sync.Mutex
	changed chan struct{} // closed when one of the following fields changes
	file    io.ReaderAt   // nil before the download
	size    int64         // size of the archive, negative if unknown
	begun   bool          // whether the download has started
	arrived int64         // bytes in file
	judged  bool          // whether the policy has accepted the archive
	err     error         // why the download has failed
}

// join returns the download of an archive, and starts it if necessary. The caller must leave it. If the
// source or the mirror has replaced the archive since, join starts a new download.
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

// sameArchive reports whether the stated hashes of two packages agree.
func sameArchive(there, wanted *provider.Package) bool {
	known := there.Evidence().Hashes
	for _, h := range wanted.Evidence().Hashes {
		if same := checksum.WithScheme(known, h.Scheme()); len(same) > 0 && !checksum.Overlap(same, []checksum.Hash{h}) {
			return false
		}
	}
	return tagOf(there) == tagOf(wanted)
}

// joinRunning joins a download to use its archive. It returns false if all readers have left.
func (u *puller) joinRunning(p *pull) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.users == 0 {
		return false
	}
	p.users++
	return true
}

// leave stops the download if there are no other readers.
func (u *puller) leave(p *pull) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	p.cancel()
	close(p.idle)
	u.dropPull(p)
}

// dropPull makes later requests start a new download. The caller holds the mutex.
func (u *puller) dropPull(p *pull) {
	if u.pulls[p.request] == p {
		delete(u.pulls, p.request)
	}
}

// pull downloads the archive and keeps its file until the last reader has left.
func (u *puller) pull(ctx context.Context, p *pull) {
	release, err := u.fetch(ctx, p)
	defer release()
	if err != nil {
		p.change(func() { p.err = err })
		u.mu.Lock()
		u.dropPull(p)
		u.mu.Unlock()
	}
	close(p.settled)
	<-p.idle
}

// fetch opens a local archive, or downloads and verifies it.
func (u *puller) fetch(ctx context.Context, p *pull) (release func(), err error) {
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
	if u.files.Acquire(ctx, 1) != nil {
		return nothing, fault.Ended(ctx)
	}
	s, err := u.stage(ctx)
	if err != nil {
		u.files.Release(1)
		return nothing, err
	}
	release = func() {
		s.Discard()
		u.files.Release(1)
	}
	return release, u.receive(ctx, p, o, s)
}

// open opens a local archive and checks its size.
func (o *origin) open(ctx context.Context) (*provider.Body, error) {
	body, err := o.Open(ctx, o.pkg)
	if err != nil {
		return nil, err
	}
	if _, ok := body.ReadCloser.(io.ReaderAt); !ok {
		err = errors.New("the files of a local storage must implement io.ReaderAt")
	} else if o.pkg.Size > 0 && o.pkg.Size != body.Size {
		err = &checksum.SizeError{Filename: o.pkg.Filename, Want: o.pkg.Size, Got: body.Size}
	}
	if err != nil {
		body.Close()
		return nil, failed("open", o.pkg, err)
	}
	return body, nil
}

// receive downloads an archive when a slot is free, verifies it, and stores it.
func (u *puller) receive(ctx context.Context, p *pull, o *origin, s *staged) error {
	free, err := o.arriving.Acquire(ctx, o.pkg.Provider.Host(), 1)
	if err != nil {
		return err
	}
	arrived := sync.OnceFunc(free)
	defer arrived()
	p.change(func() { p.file = s.File })
	got, err := provider.Receive(ctx, o.Fetcher, o.pkg, s.File, provider.ReceiveOptions{Policy: o.policy, FetchEvidence: o.store != nil, Arrived: p.setArrived})
	switch {
	case err != nil && o.mirrored:
		return err // an archive can be removed from a mirror at any time
	case err != nil:
		return webserve.AsInconsistent(err)
	}
	if _, err := got.Judge(ctx, o.policy); err != nil {
		return failed("verify", o.pkg, err)
	}
	// Keep the archive even if all readers leave. New readers find it here until it is in the mirror.
	stays := o.store != nil && u.joinRunning(p)
	p.change(func() { p.size, p.arrived, p.judged = got.Size, got.Size, true })
	if stays {
		// Another process may hold the lock of the version for long.
		arrived()
		o.store(context.WithoutCancel(ctx), s, o.pkg, got)
		u.leave(p)
	}
	return nil
}
