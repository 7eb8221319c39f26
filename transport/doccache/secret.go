package doccache

import (
	"context"
	"crypto/rand"
	"errors"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
)

const (
	secretFile = "key"
	secretSize = 32
)

// readSecret accepts only what this user has made for no one else: with it, entries can be
// forged. The error is errDamaged for a file that may be replaced.
func (s *store) readSecret() error {
	path := s.path(secretFile)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := private(path, info); err != nil {
		return err
	}
	data, err := readRegular(path, info, secretSize)
	if err != nil || len(data) != secretSize {
		return errors.Join(errDamaged, err)
	}
	s.secret = data
	return nil
}

// makeSecret makes the secret, once for all processes that come at this moment.
func (s *store) makeSecret(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if l, err := fsx.AcquireLock(ctx, s.path(secretFile+lockSuffix)); err == nil {
		defer func() { _ = l.Remove() }()
	} // where there are no locks, the last one to write is right
	if s.readSecret() == nil {
		return nil
	}
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret) // never fails
	if err := fsx.WriteFile(s.path(secretFile), secret, 0o600); err != nil {
		return err
	}
	return s.readSecret()
}
