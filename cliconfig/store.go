package cliconfig

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// ErrNotWritable: the token of a host stands in a file that only its author changes.
var ErrNotWritable = errors.New("the token stands in a configuration file that is not changed by programs")

// Store returns where the token of a host is to be saved and forgotten, as by the CLI
// when its user logs in and out:
//
//   - in the file credentials.tfrc.json of the configuration directory, if the entry of
//     the host that counts is there, or there is none and no credentials helper;
//   - else in the credentials helper;
//   - if the block that counts is in another file, nowhere: ErrNotWritable. That is so
//     even if credentials.tfrc.json has an entry as well, which the CLI would change: the
//     token of the other file would hold as before.
//
// What is saved or forgotten holds at once for [Config.Credentials]. A variable of the
// environment, which overrides it, remains as it is, and so does a block of a file that is
// read before credentials.tfrc.json: once the entry is forgotten, the next Load finds it.
//
// The store is for this host only. After TF_CLI_CONFIG_FILE the CLI does not read the
// credentials file that it writes.
func (c *Config) Store(host svchost.Hostname) (auth.Store, error) {
	t := c.userTokens()
	path := t.set.store
	block := t.block(host)
	switch {
	case block != nil && block.place.File != path:
		return nil, fmt.Errorf("%s: %w", block.place, ErrNotWritable)
	case block == nil && t.program != nil:
		return &store{Store: t.program, tokens: t, host: host}, nil
	case path == "":
		return nil, errors.New("there is no home directory that could hold a credentials file")
	}
	return &store{Store: auth.CredentialsFile{Path: path}, tokens: t, host: host, file: path}, nil
}

// store keeps what a Config knows up to date.
type store struct {
	auth.Store
	tokens *tokens
	host   hostname
	file   string // empty: it is the helper
}

var errOtherHost = errors.New("the store is for another host")

func (s *store) Save(ctx context.Context, host hostname, token auth.Token) error {
	block := &credential{token: token, place: Place{File: s.file}}
	return s.change(host, block, func() error { return s.Store.Save(ctx, host, token) })
}

func (s *store) Forget(ctx context.Context, host hostname) error {
	return s.change(host, nil, func() error { return s.Store.Forget(ctx, host) })
}

// change calls do. If the store is a file, block is what it then has for host.
func (s *store) change(host hostname, block *credential, do func() error) error {
	if host != s.host {
		return errOtherHost
	}
	err := do()
	if err == nil && s.file != "" {
		s.tokens.mu.Lock()
		defer s.tokens.mu.Unlock()
		s.tokens.blocks[host] = block
	}
	s.tokens.Invalidate(host)
	return err
}

func (s *store) String() string { return fmt.Sprint(s.Store) }
