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
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// forAllHosts is how many times the work for one host is permitted for all hosts. There are as many temporary
// files, which slow clients keep after the downloads.
const forAllHosts = 16

// hostShares limits work for each host of providers, so that a silent host stops no other.
type hostShares = flight.Shares[svchost.Hostname]

func slots(n int) *hostShares {
	return flight.NewShares[svchost.Hostname](forAllHosts*int64(n), int64(n))
}

// listSlots limits lists of versions, which take more memory than other answers.
func listSlots(parallel int) *hostShares { return slots(max(1, parallel/4)) }

// workers returns the number of concurrent requests for one host of a field Parallel.
func workers(parallel int) int { return cmp.Or(max(parallel, 0), webserve.DefaultParallel) }

// upstream is a source with limits for concurrent requests. It checks answers, and marks those for which the source is
// asked. Concurrent calls share the request for a package.
type upstream struct {
	provider.Source
	policy   provider.Policies
	mark     webserve.Mark
	verified bool // whether the archives were verified when they were stored, so that they need only the stated hashes

	lists, requests, arriving *hostShares // arriving: one for each running download
	packages                  flight.Group[request, *provider.Package]
}

func newUpstream(src provider.Source, policy provider.Policies, mark webserve.Mark, n int) *upstream {
	return &upstream{
		Source: provider.CheckAnswers(src), policy: policy, mark: mark,
		lists: listSlots(n), requests: slots(n), arriving: slots(n),
	}
}

// limited calls request when a slot is free.
func limited[T any](ctx context.Context, slots *hostShares, p addrs.Provider, request func() (T, error)) (T, error) {
	release, err := slots.Acquire(ctx, p.Host(), 1)
	if err != nil {
		var none T
		return none, err
	}
	defer release()
	return request()
}

func (u *upstream) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	webserve.Note(ctx, u.mark)
	return limited(ctx, u.lists, p, func() (*provider.Versions, error) { return u.Source.ProviderVersions(ctx, p) })
}

func (u *upstream) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	webserve.Note(ctx, u.mark)
	q := request{documentKey{p, v}, platform, true}
	return u.packages.Do(ctx, q, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		return limited(ctx, u.requests, p, func() (*provider.Package, error) { return u.Source.ProviderPackage(ctx, p, v, platform) })
	})
}

func (u *upstream) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	webserve.Note(ctx, u.mark)
	return limited(ctx, u.requests, pkg.Provider, func() (verify.Evidence, error) { return u.Source.Evidence(ctx, pkg) })
}

// receive downloads the archive of pkg into the file of d, when a slot is free, and judges it. Readers of d get all but
// its last byte meanwhile. If evidence is set, it is fetched even if the policy does not need it.
func (u *upstream) receive(ctx context.Context, d *download, pkg *provider.Package, evidence bool) (*provider.Received, error) {
	policy := u.policy.For(pkg.Provider)
	if u.verified {
		policy = verify.Policy{AllowUnchecked: true, Limits: policy.Limits}
	}
	free, err := u.arriving.Acquire(ctx, pkg.Provider.Host(), 1)
	if err != nil {
		return nil, err
	}
	defer free()
	got, err := provider.Receive(ctx, u.Source, pkg, d.staged.File, provider.ReceiveOptions{Policy: policy, FetchEvidence: evidence, Arrived: d.setArrived})
	switch {
	case err != nil && u.verified:
		return nil, err // an archive can be removed from a mirror at any time
	case err != nil:
		return nil, webserve.AsInconsistent(err)
	}
	if _, err := got.Judge(ctx, policy, d.staged.File, false); err != nil {
		return nil, failure.Wrap("verify", pkg.String(), err)
	}
	return got, nil
}

// downloads are the running downloads of archives. Concurrent readers of an archive share one.
type downloads struct {
	fetch func(context.Context, *download) error // downloads an archive, until its context ends with the last user
	files *semaphore.Weighted                    // one for each temporary file that has readers

	mu      sync.Mutex
	running map[request]*download
}

func newDownloads(n int, fetch func(context.Context, *download) error) *downloads {
	return &downloads{fetch: fetch, files: semaphore.NewWeighted(forAllHosts * int64(n)), running: map[request]*download{}}
}

// download is an archive that arrives in a temporary file, and its readers. They read while it is written, and the last
// byte only after verification.
type download struct {
	pkg     *provider.Package
	ended   context.CancelFunc // called when the last user has left
	settled chan struct{}      // closed when the archive is stored or dropped
	staged  *storage.Staged    // nil before the file exists

	// The mutex of downloads guards these.
	users int    // readers, and the store while it needs the file
	held  bool   // whether the store needs the file
	free  func() // frees the place of the file

	mu      sync.Mutex
	changed chan struct{} // closed when one of the following fields changes
	cached  bool          // whether the archive comes from a mirror
	size    int64         // size of the archive, negative if unknown
	begun   bool          // whether the download has started
	arrived int64         // bytes in the file
	judged  bool          // whether the archive is accepted
	err     error         // why the download has failed
}

// open joins the download of an archive, or starts it, and waits until the size is known. The caller must close the reader.
func (ds *downloads) open(ctx context.Context, pkg *provider.Package) (*reader, error) {
	d := ds.join(ctx, pkg)
	left := sync.OnceFunc(func() { ds.leave(d) })
	r := &reader{ctx: ctx, download: d}
	r.timer = time.AfterFunc(stall, func() {
		r.stalled.Store(true)
		left()
	})
	r.timer.Stop()
	r.leave = func() {
		r.timer.Stop()
		left()
	}
	err := d.await(ctx, func() bool {
		r.size = d.size
		return r.size >= 0
	})
	if err != nil {
		r.leave()
		return nil, failure.Wrap("open", pkg.String(), err)
	}
	r.timer.Reset(stall)
	return r, nil
}

// join returns the download of an archive, and starts it if necessary. The caller must leave it. If the
// source or the mirror has replaced the archive since, join starts a new download.
func (ds *downloads) join(ctx context.Context, pkg *provider.Package) *download {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.running[requestOf(pkg)]
	if d == nil || !sameArchive(d.pkg, pkg) {
		work, ended := context.WithCancel(context.WithoutCancel(ctx))
		d = &download{pkg: pkg, ended: ended, free: func() {}, size: -1, settled: make(chan struct{}), changed: make(chan struct{})}
		ds.running[requestOf(pkg)] = d
		go ds.run(work, d)
	}
	d.users++
	return d
}

// requestOf returns the request for the archive of pkg.
func requestOf(pkg *provider.Package) request {
	return request{documentKey{pkg.Provider, pkg.Version}, pkg.Platform, true}
}

// sameArchive reports whether the stated hashes of two packages agree.
func sameArchive(there, wanted *provider.Package) bool {
	known := there.Evidence().Hashes
	for _, h := range wanted.Evidence().Hashes {
		if same := checksum.WithScheme(known, h.Scheme()); len(same) > 0 && !hashlist.Overlap(same, []checksum.Hash{h}) {
			return false
		}
	}
	return tagOf(there) == tagOf(wanted)
}

// run downloads the archive and keeps its file until the last user has left.
func (ds *downloads) run(ctx context.Context, d *download) {
	if err := ds.fetch(ctx, d); err != nil {
		d.change(func() { d.err = err })
		ds.mu.Lock()
		ds.drop(d)
		ds.mu.Unlock()
	}
	close(d.settled)
	<-ctx.Done()
	if d.staged != nil {
		d.staged.Discard()
	}
}

// drop makes later requests start a new download. The caller holds the mutex.
func (ds *downloads) drop(d *download) {
	if ds.running[requestOf(d.pkg)] == d {
		delete(ds.running, requestOf(d.pkg))
	}
}

// place waits for the place of a file, which is free when the last reader has left.
func (ds *downloads) place(ctx context.Context, d *download) error {
	if ds.files.Acquire(ctx, 1) != nil {
		return fault.Ended(ctx)
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d.free = sync.OnceFunc(func() { ds.files.Release(1) })
	if d.users == 0 {
		d.free()
	}
	return nil
}

// leave ends the use of a download. It stops if there are no other users.
func (ds *downloads) leave(d *download) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d.users--
	if d.users == 0 || d.users == 1 && d.held {
		d.free()
	}
	if d.users == 0 {
		d.ended()
		ds.drop(d)
	}
}

// hold keeps the file for the store until letGo, also without readers. It returns false if all have left.
func (ds *downloads) hold(d *download) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.users > 0 {
		d.users, d.held = d.users+1, true
	}
	return d.held
}

// letGo ends what hold has begun.
func (ds *downloads) letGo(d *download) {
	ds.mu.Lock()
	d.held = false
	ds.mu.Unlock()
	ds.leave(d)
}

// accept lets readers have the last byte.
func (d *download) accept(size int64) {
	d.change(func() { d.size, d.arrived, d.judged = size, size, true })
}

// change calls what and wakes the readers.
func (d *download) change(what func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	what()
	close(d.changed)
	d.changed = make(chan struct{})
}

// await waits until ready returns true or the download fails. It calls ready with the mutex held.
func (d *download) await(ctx context.Context, ready func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !ready() {
		if d.err != nil {
			return d.err
		}
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		d.mu.Lock()
		if ctx.Err() != nil {
			return fault.Ended(ctx)
		}
	}
	return nil
}

// readable returns the number of bytes that may be read. The caller holds the mutex.
func (d *download) readable() int64 {
	if d.judged {
		return d.size
	}
	return min(d.arrived, d.size-1)
}

// setArrived records the progress of the download.
func (d *download) setArrived(n, total int64) (err error) {
	d.change(func() {
		switch {
		case n > 0:
			d.arrived = n
		case d.begun:
			// Readers may have forwarded the first bytes already.
			err = errors.New("the archive has changed during the download")
		case total > 0:
			d.size = total
		}
		d.begun = true
	})
	return err
}

// stall is the maximum time between two reads, since the archive uses disk space meanwhile.
const stall = 5 * time.Minute

var errStalled = fmt.Errorf("the client has read nothing for %v", stall)

// reader reads an archive while it is downloaded.
type reader struct {
	ctx      context.Context
	download *download
	leave    func()
	size     int64
	offset   int64
	err      error // why reading has failed

	timer   *time.Timer // runs between two reads
	stalled atomic.Bool
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.leave()
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	r.timer.Stop()
	defer r.timer.Reset(stall)
	if r.offset >= r.size {
		return 0, io.EOF
	}
	var readable int64
	r.err = r.download.await(r.ctx, func() bool {
		readable = r.download.readable()
		return readable > r.offset
	})
	if r.stalled.Load() {
		r.err = errStalled
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.download.staged.File.ReadAt(b[:min(int64(len(b)), readable-r.offset)], r.offset)
	r.offset += int64(n)
	if err == io.EOF && n > 0 {
		err = nil
	}
	r.err = err
	return n, err
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
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
