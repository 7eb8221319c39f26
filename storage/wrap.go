package storage

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/wrap"
)

// As returns s as a T, such as a [Locker], or the first store that s wraps and that is one. A store wraps another
// one if it has a method
//
//	Unwrap() Store
//
// Calls of the abilities that the wrapper lacks go around it. So a wrapper that counts writes needs Stage. One
// that changes contents needs Stage, FilePath and URL. One that changes names needs all four methods, Lock only
// if the other store has locks. A struct that embeds a Dir has no ability.
func As[T any](s Store) (t T, ok bool) { return wrap.As[T](s) }

// Locker is a Store that can exclude other processes.
type Locker interface {
	// Lock waits until no process or goroutine has the lock of this name, which need not be a file. If ctx ends
	// first, the error wraps its error or cause. The lock ends with the process. Other methods do not wait.
	Lock(ctx context.Context, name string) (unlock func() error, err error)
}

// Stager is a Store in which a file can be written before it has a name.
type Stager interface {
	// Stage creates a file.
	Stage(ctx context.Context) (*Staged, error)
}

// Pather is a Store in the file system.
type Pather interface {
	// FilePath returns the path of a file, which may be missing.
	FilePath(name string) (string, error)
}

// Linker is a Store whose files have URLs.
type Linker interface {
	// URL returns a URL from which anybody can get a file for lifetime. The file may be missing.
	URL(ctx context.Context, name string, lifetime time.Duration) (string, error)
}

// Staged is a file without a name in a store yet, such as an unverified download. The caller must discard it.
type Staged struct {
	File *os.File // until Discard

	commit  func(ctx context.Context, name string, was Revision) error
	discard func()
}

// NewStaged returns a Staged whose methods call these functions, for implementations of [Stager].
func NewStaged(file *os.File, commit func(ctx context.Context, name string, was Revision) error, discard func()) *Staged {
	return &Staged{file, commit, discard}
}

// Commit gives the file a name, on the condition of Write of [Store].
func (s *Staged) Commit(ctx context.Context, name string, was Revision) error {
	if s.commit == nil {
		return errors.New("no file is staged: call Stage")
	}
	return s.commit(ctx, name, was)
}

// Discard closes the file, and removes it unless it has a name now. It may be called twice.
func (s *Staged) Discard() {
	if s.discard != nil {
		s.discard()
	}
}

// Stage creates a file for s: with its [Stager], or else in tempDir ([os.TempDir] if empty), from which Commit
// writes a copy.
func Stage(ctx context.Context, s Store, tempDir string) (*Staged, error) {
	if stager, ok := As[Stager](s); ok {
		return stager.Stage(ctx)
	}
	f, err := fsx.Temp(tempDir)
	if err != nil {
		return nil, err
	}
	commit := func(ctx context.Context, name string, was Revision) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return s.Write(ctx, name, io.NewSectionReader(f, 0, info.Size()), was)
	}
	return NewStaged(f.File, commit, f.Discard), nil
}
