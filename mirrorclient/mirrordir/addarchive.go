package mirrordir

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// RecordedPackage returns a package if its archive has the recorded size and policy accepts its
// record, otherwise nil. It does not read the archive.
func (m *Mirror) RecordedPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform, policy verify.Policy) (*provider.Package, error) {
	pkg := address{p, v, platform}.pkg()
	a, err := m.newTarget(ctx, pkg, Options{Policy: policy})
	if err != nil {
		return nil, failed("find", pkg.String(), err)
	}
	if _, err := a.judgeRecord(); err != nil {
		return nil, nil
	}
	if err := m.describe(ctx, pkg, packageFile{name: a.name, size: a.size}); err != nil {
		return nil, failed("find", pkg.String(), err)
	}
	return pkg, nil
}

// AddArchive adds an archive that [provider.Receive] has received into a file of [Mirror.Stage],
// unless the mirror has one that o.Policy accepts. It judges the archive by o.Policy. If the version
// is locked for five minutes, the error wraps [context.DeadlineExceeded].
func (m *Mirror) AddArchive(ctx context.Context, s Staged, pkg *provider.Package, got *provider.Received, o Options) (*Added, error) {
	added, err := m.addArchive(ctx, s, pkg, got, o)
	return added, failed("mirror", pkg.String(), err)
}

func (m *Mirror) addArchive(ctx context.Context, s Staged, pkg *provider.Package, got *provider.Received, o Options) (*Added, error) {
	if err := (Want{Provider: pkg.Provider, Version: pkg.Version}).check(); err != nil {
		return nil, err
	}
	if err := m.checkProviderDir(pkg.Provider); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, maxLockWait)
	defer cancel()
	unlock, err := m.lockVersion(waiting, pkg.Provider, pkg.Version)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a, err := m.newTarget(ctx, pkg, o)
	if err != nil {
		return nil, err
	}
	kept, err := a.isComplete(ctx)
	if err != nil {
		return nil, err
	}
	if !kept {
		f := &archiveFile{ReaderAt: s.File(), size: got.Size, zh: got.ZH}
		if err := a.judge(ctx, f, got.Evidence); err != nil {
			return nil, err
		}
		if err := a.write(ctx, s, func() {}); err != nil {
			return nil, err
		}
	}
	return a.added(!kept), m.publish(ctx, pkg.Provider, []addrs.Version{pkg.Version}, publishOptions{})
}

// maxLockWait is the maximum time that AddArchive waits for the lock of a version, since the staged
// file uses disk space.
const maxLockWait = 5 * time.Minute
