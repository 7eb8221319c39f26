package install

import (
	"context"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// acquire locks the package and creates its parent directories. It calls waiting if another holder
// has the lock.
//
// The lock file stays when the lock is released. A waiting CLI has the file open and does not check
// that it still has its name: with a new file, two processes would hold the lock.
func (s *location) acquire(ctx context.Context, waiting func()) (*fsx.Lock, error) {
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	for _, dir := range s.parents() {
		if err := s.mkdir(dir); err != nil {
			return nil, err
		}
	}
	l, err := fsx.TryLockIn(s.root, s.lockName())
	if l != nil || err != nil {
		return l, err
	}
	waiting()
	return fsx.AcquireLockIn(ctx, s.root, s.lockName())
}
