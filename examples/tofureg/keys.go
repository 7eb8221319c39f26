package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// signer is the answer of keys about one provider.
type signer struct {
	Provider addrs.Provider      `json:"provider"`
	Version  addrs.Version       `json:"version"`
	Check    *install.EntryCheck `json:"check,omitempty"`
	Ends     bool                `json:"ends,omitempty"` // within the time, or before
	Err      string              `json:"error,omitempty"`
}

// keys prints the key that signed each locked version, and ends with code 3 if one ends soon.
func keys(ctx context.Context, c *call) error {
	flags := c.flags()
	file := flags.String("lockfile", lockfile.Name, "lock `file`")
	within := flags.Duration("within", 30*24*time.Hour, "a key that ends within this `time` is found")
	if _, err := c.parse(flags, 0, 0); err != nil {
		return err
	}
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	locks, err := lockfile.Load(*file)
	if err != nil {
		return err
	}
	var list []signer
	var failed []error
	var ending int
	for e := range locks.All() {
		s := signer{Provider: e.Provider, Version: e.Version}
		if s.Check, err = install.CheckEntry(ctx, config.Registry(), e, config.Policy(e.Provider)); err != nil {
			s.Err = err.Error()
			failed = append(failed, err)
		} else if by := s.Check.SignedBy; by != nil && !by.KeyExpires.IsZero() && time.Until(by.KeyExpires) < *within {
			s.Ends = true
			ending++
		}
		list = append(list, s)
	}
	failed = append(failed, c.print(list, func() {
		for _, s := range list {
			c.printf("%s %s %s\n", s.Provider, s.Version, s.text())
		}
	}))
	if err := errors.Join(failed...); err != nil || ending == 0 {
		return err
	}
	return fmt.Errorf("%d keys end within %s: %w", ending, *within, errNo)
}

// text says who signed a version.
func (s signer) text() string {
	switch {
	case s.Check == nil:
		return s.Err
	case s.Check.SignedBy == nil:
		return "not signed"
	case s.Check.SignedBy.KeyExpires.IsZero():
		return "signed by " + s.Check.SignedBy.KeyID
	}
	return fmt.Sprintf("signed by %s, which ends on %s", s.Check.SignedBy.KeyID, s.Check.SignedBy.KeyExpires.Format(time.DateOnly))
}
