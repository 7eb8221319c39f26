package mirrordir

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Kept returns the package of p in version v for a platform if the mirror has its archive as
// [Mirror.Add] puts it there: under the canonical name, with the size on record, and policy
// accepts the hashes and the evidence on record. The archive is not read. If there is no such
// archive, the result is nil, and so is the error.
func (m *Mirror) Kept(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform, policy verify.Policy) (*provider.Package, error) {
	pkg := address{p, v, platform}.pkg()
	a, err := m.look(ctx, pkg, Options{Policy: policy})
	if err != nil || !a.recordSuffices() {
		return nil, failed("find", pkg.String(), err)
	}
	if err := m.describe(ctx, pkg, held{name: a.name, size: a.size}); err != nil {
		return nil, failed("find", pkg.String(), err)
	}
	return pkg, nil
}

// Keep makes an archive that has arrived a part of the mirror, as [Mirror.Add] does. pkg and got
// are what its source says of it, and what [provider.Receive] has received in a file of
// [Mirror.Stage]. If the mirror has an archive of the package that o.Policy accepts, that one
// stays. Keep judges the archive by o.Policy, whatever was decided before; of o, Parallel and
// Progress are ignored. If an Add of the version does not end within five minutes, the archive is
// not kept: the error wraps [context.DeadlineExceeded].
func (m *Mirror) Keep(ctx context.Context, s Staged, pkg *provider.Package, got *provider.Received, o Options) (*Added, error) {
	added, err := m.keep(ctx, s, pkg, got, o)
	return added, failed("mirror", pkg.String(), err)
}

func (m *Mirror) keep(ctx context.Context, s Staged, pkg *provider.Package, got *provider.Received, o Options) (*Added, error) {
	if err := (Want{Provider: pkg.Provider, Version: pkg.Version}).check(); err != nil {
		return nil, err
	}
	if err := m.nameable(pkg.Provider); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, maxKeepWait)
	defer cancel()
	unlock, err := m.lockVersion(waiting, pkg.Provider, pkg.Version)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a, err := m.look(ctx, pkg, o)
	if err != nil {
		return nil, err
	}
	kept, err := a.keep(ctx)
	if err != nil {
		return nil, err
	}
	if !kept {
		f := &archiveFile{ReaderAt: s.File(), size: got.Size, zh: got.ZH}
		if err := a.judge(ctx, f, got.Evidence); err != nil {
			return nil, err
		}
		if err := a.put(ctx, s, func() {}); err != nil {
			return nil, err
		}
	}
	return a.added(!kept), m.publish(ctx, pkg.Provider, versionsOf(pkg), publication{})
}

// maxKeepWait is how long Keep waits for the lock of a version: the archive holds a file meanwhile.
const maxKeepWait = 5 * time.Minute

func versionsOf(pkg *provider.Package) []addrs.Version { return []addrs.Version{pkg.Version} }
