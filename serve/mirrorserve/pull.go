package mirrorserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// puller downloads packages from a source. Concurrent requests for a package share one download.
type puller struct {
	source   provider.Source
	parallel int                 // maximum number of concurrent downloads
	files    *semaphore.Weighted // one for each archive in a temporary file

	stage stager

	// origin returns where to download the archive of a package.
	origin func(ctx context.Context, pkg *provider.Package) (*origin, error)

	packages flight.Group[request, *provider.Package]

	mu    sync.Mutex
	pulls map[request]*pull // running downloads
}

// stager creates a file for a download. If the archive cannot be stored, refused says why.
type stager func(context.Context) (s *storage.Staged, refused, err error)

// origin describes where an archive comes from and what to do with it.
type origin struct {
	provider.Opener
	pkg      *provider.Package // package as the Opener describes it
	policy   verify.Policy
	mirrored bool        // whether the Opener is a mirror, whose archives were verified
	local    bool        // whether archives are local files, which are not copied
	arriving *hostShares // one for each running download

	// store, if not nil, is called with each archive that the policy accepts.
	store func(ctx context.Context, s *storage.Staged, refused error, pkg *provider.Package, got *provider.Received)

	release func() // called when the archive is stored or has failed, unless it is nil
}

// forAllHosts is how many times the work for one host is permitted for all hosts. There are as many temporary
// files, which slow clients keep after the downloads.
const forAllHosts = 16

// hostShares limits work for each host of providers, so that a silent host stops no other.
type hostShares = flight.Shares[svchost.Hostname]

func slots(n int) *hostShares {
	return flight.NewShares[svchost.Hostname](forAllHosts*int64(n), int64(n))
}

// prepare returns a puller without a source.
func prepare(parallel int, stage stager) *puller {
	n := cmp.Or(max(parallel, 0), webserve.DefaultParallel)
	return &puller{parallel: n, files: semaphore.NewWeighted(forAllHosts * int64(n)), stage: stage}
}

// newPuller returns a puller for a source with one origin for all archives of a provider.
func newPuller(source provider.Source, mark webserve.Mark, parallel int, stage stager, from func(addrs.Provider) origin) *puller {
	u := prepare(parallel, stage)
	arriving := slots(u.parallel)
	u.source = u.asking(source, mark)
	u.origin = func(_ context.Context, pkg *provider.Package) (*origin, error) {
		o := from(pkg.Provider)
		o.pkg, o.arriving = pkg, arriving
		return &o, nil
	}
	return u
}

// policyFor returns the policy for p of a field that may be nil.
func policyFor(policy func(addrs.Provider) verify.Policy, p addrs.Provider) verify.Policy {
	if policy == nil {
		return verify.Policy{}
	}
	return policy(p)
}

// tempStage returns a function that creates temporary files.
func tempStage(dir string) stager {
	return func(ctx context.Context) (s *storage.Staged, refused, err error) {
		s, err = storage.Stage(ctx, nil, dir)
		return s, nil, err
	}
}

// mirrorOrigin returns the origin of archives of p in a mirror. They were verified when they were added. An
// archive that is not on this machine must have the recorded hashes.
func mirrorOrigin(m provider.Opener, local bool, policy func(addrs.Provider) verify.Policy, p addrs.Provider) origin {
	return origin{Opener: m, policy: verify.Policy{AllowUnchecked: true, Limits: policyFor(policy, p).Limits}, mirrored: true, local: local}
}

// asking returns a source that checks the answers of another source and limits concurrent requests. It marks
// answers for which the other is asked.
func (u *puller) asking(source provider.Source, mark webserve.Mark) *asker {
	return &asker{provider.CheckAnswers(source), slots(u.parallel), listSlots(u.parallel), mark}
}

// listSlots limits lists of versions, which take more memory than other answers.
func listSlots(parallel int) *hostShares { return slots(max(1, parallel/4)) }

// asker is a source with a limit for concurrent requests to a host other than downloads.
type asker struct {
	provider.Source
	slots, lists *hostShares
	mark         webserve.Mark
}

// ask calls request when a slot is free.
func ask[T any](ctx context.Context, a *asker, slots *hostShares, p addrs.Provider, request func() (T, error)) (T, error) {
	webserve.Note(ctx, a.mark)
	release, err := slots.Acquire(ctx, p.Host(), 1)
	if err != nil {
		var none T
		return none, err
	}
	defer release()
	return request()
}

func (a *asker) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return ask(ctx, a, a.lists, p, func() (*provider.Versions, error) { return a.Source.ProviderVersions(ctx, p) })
}

func (a *asker) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return ask(ctx, a, a.slots, p, func() (*provider.Package, error) { return a.Source.ProviderPackage(ctx, p, v, platform) })
}

func (a *asker) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(ctx, a, a.slots, pkg.Provider, func() (verify.Evidence, error) { return a.Source.Evidence(ctx, pkg) })
}

// findPackage requests a package. Concurrent calls share one request.
func (u *puller) findPackage(ctx context.Context, q request) (*provider.Package, error) {
	return u.packages.Do(ctx, q, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		pkg, err := u.source.ProviderPackage(ctx, q.provider, q.version, q.platform)
		if err == nil && pkg.Dir != "" {
			return nil, failure.Wrap("open", pkg.String(), provider.ErrUnpacked)
		}
		return pkg, err
	})
}

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
	cached  bool          // whether the archive comes from a mirror
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
	if o != nil && o.release != nil {
		defer o.release()
	}
	if err != nil {
		return nothing, err
	}
	p.change(func() { p.cached = o.mirrored })
	if o.local {
		body, err := o.open(ctx)
		if err != nil {
			return nothing, err
		}
		if file, ok := body.ReadCloser.(io.ReaderAt); ok {
			p.change(func() { p.file, p.size, p.judged = file, body.Size, true })
			return func() { body.Close() }, nil
		}
		body.Close() // a wrapper hides that it is a file
	}
	if u.files.Acquire(ctx, 1) != nil {
		return nothing, fault.Ended(ctx)
	}
	s, refused, err := u.stage(ctx)
	if err != nil {
		u.files.Release(1)
		return nothing, err
	}
	release = func() {
		s.Discard()
		u.files.Release(1)
	}
	return release, u.receive(ctx, p, o, s, refused)
}

// open opens a local archive and checks its size.
func (o *origin) open(ctx context.Context) (*provider.Body, error) {
	body, err := o.Open(ctx, o.pkg)
	if err != nil {
		return nil, err
	}
	if o.pkg.Size > 0 && o.pkg.Size != body.Size {
		err = fmt.Errorf("%w: archive is %d bytes, want %d", checksum.ErrMismatch, body.Size, o.pkg.Size)
	}
	if err != nil {
		body.Close()
		return nil, failure.Wrap("open", o.pkg.String(), err)
	}
	return body, nil
}

// receive downloads an archive when a slot is free, verifies it, and stores it.
func (u *puller) receive(ctx context.Context, p *pull, o *origin, s *storage.Staged, refused error) error {
	free, err := o.arriving.Acquire(ctx, o.pkg.Provider.Host(), 1)
	if err != nil {
		return err
	}
	arrived := sync.OnceFunc(free)
	defer arrived()
	p.change(func() { p.file = s.File })
	got, err := provider.Receive(ctx, o.Opener, o.pkg, s.File, provider.ReceiveOptions{Policy: o.policy, FetchEvidence: o.store != nil, Arrived: p.setArrived})
	switch {
	case err != nil && o.mirrored:
		return err // an archive can be removed from a mirror at any time
	case err != nil:
		return webserve.AsInconsistent(err)
	}
	if _, err := got.Judge(ctx, o.policy, s.File, false); err != nil {
		return failure.Wrap("verify", o.pkg.String(), err)
	}
	// Keep the archive even if all readers leave. New readers find it here until it is in the mirror.
	stays := o.store != nil && u.joinRunning(p)
	p.change(func() { p.size, p.arrived, p.judged = got.Size, got.Size, true })
	if stays {
		// Another process may hold the lock of the version for long.
		arrived()
		o.store(context.WithoutCancel(ctx), s, refused, o.pkg, got)
		u.leave(p)
	}
	return nil
}

// change calls what and wakes the readers.
func (p *pull) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until ready returns true or the download fails. It calls ready with the mutex held.
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
			return fault.Ended(ctx)
		}
	}
	return nil
}

// readable returns the number of bytes that may be read. The caller holds the mutex.
func (p *pull) readable() int64 {
	if p.judged {
		return p.size
	}
	return min(p.arrived, p.size-1)
}

// setArrived records the progress of the download.
func (p *pull) setArrived(n, total int64) (err error) {
	p.change(func() {
		switch {
		case n > 0:
			p.arrived = n
		case p.begun:
			// Readers may have forwarded the first bytes already.
			err = errors.New("the archive has changed during the download")
		case total > 0:
			p.size = total
		}
		p.begun = true
	})
	return err
}

// stall is the maximum time between two reads, since the archive uses disk space meanwhile.
const stall = 5 * time.Minute

var errStalled = fmt.Errorf("the client has read nothing for %v", stall)

// pullReader reads an archive while it is downloaded. Its caller calls begin, and leave at the end.
type pullReader struct {
	ctx    context.Context
	pull   *pull
	leave  func()
	size   int64
	offset int64
	err    error // why reading has failed

	timer *time.Timer // runs between two reads
	ended atomic.Bool
}

// read joins the download of an archive.
func (u *puller) read(ctx context.Context, q request, pkg *provider.Package) *pullReader {
	r := &pullReader{ctx: ctx, pull: u.join(ctx, q, pkg)}
	left := sync.OnceFunc(func() { u.leave(r.pull) })
	r.timer = time.AfterFunc(stall, func() {
		r.ended.Store(true)
		left()
	})
	r.timer.Stop()
	r.leave = func() {
		r.timer.Stop()
		left()
	}
	return r
}

// begin waits until the size of the archive is known, and if judged is set, until it is verified.
func (r *pullReader) begin(judged bool) error {
	defer r.timer.Reset(stall)
	return r.pull.await(r.ctx, func() bool {
		r.size = r.pull.size
		return r.size >= 0 && (r.pull.judged || !judged)
	})
}

// Read implements io.Reader.
func (r *pullReader) Read(b []byte) (int, error) {
	r.timer.Stop()
	defer r.timer.Reset(stall)
	if r.offset >= r.size {
		return 0, io.EOF
	}
	var readable int64
	var file io.ReaderAt
	r.err = r.pull.await(r.ctx, func() bool {
		readable, file = r.pull.readable(), r.pull.file
		return readable > r.offset
	})
	if r.ended.Load() {
		r.err = errStalled
	}
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
