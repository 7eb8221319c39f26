package install

import (
	"context"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// acquire takes the lock of the package, for which it makes the directories that lead
// there. It calls waiting if somebody else has the lock.
//
// Whoever has the lock gives it up and leaves the file, as the CLI does. A CLI that waits
// has the file open, and does not ask whether it still has its name when the lock is its
// own: it would share the package with whoever makes the file anew.
func (s *location) acquire(ctx context.Context, waiting func()) (*fsx.Lock, error) {
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	if err := s.mkdirs(); err != nil {
		return nil, err
	}
	l, err := fsx.TryLockIn(s.root, s.lockName())
	if l != nil || err != nil {
		return l, err
	}
	waiting()
	return fsx.AcquireLockIn(ctx, s.root, s.lockName())
}
