package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tofureg/tofureg/internal/fsx"
)

// acquire takes the lock of the package, for which it makes the directories that lead
// there. It calls waiting once if somebody else has the lock.
func (s *spot) acquire(ctx context.Context, waiting func()) (*fsx.Lock, error) {
	for range 100 {
		l, err := s.tryAcquire(ctx, &waiting)
		if ctx.Err() != nil || !errors.Is(err, fs.ErrNotExist) {
			return l, err
		}
		// Somebody has removed the directories since they were empty.
	}
	return nil, fmt.Errorf("%s: %w again and again", s.path(s.lockName()), fs.ErrNotExist)
}

func (s *spot) tryAcquire(ctx context.Context, waiting *func()) (*fsx.Lock, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.mkdirs(); err != nil {
		return nil, err
	}
	l, err := fsx.TryLockIn(s.root, s.lockName())
	if l != nil || err != nil {
		return l, err
	}
	(*waiting)()
	*waiting = func() {}
	return fsx.AcquireLockIn(ctx, s.root, s.lockName())
}

// release gives up the lock. The file stays, as the CLI leaves it, but where there is
// nothing that it would be for.
func (s *spot) release(l *fsx.Lock) error {
	if _, err := s.root.Lstat(s.name); !errors.Is(err, fs.ErrNotExist) {
		return l.Release()
	}
	err := l.Remove()
	s.removeEmpty()
	return err
}
