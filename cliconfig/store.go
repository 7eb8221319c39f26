package cliconfig

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// ErrNotWritable means that a token is in a file that only the user edits.
var ErrNotWritable = errors.New("the token is in a configuration file that programs do not change; edit the file")

// Store returns the store that login and logout of the CLI change for a host:
//
//   - credentials.tfrc.json in the configuration directory, if it has the token of the host;
//   - no store, with [ErrNotWritable], if another file has the token;
//   - otherwise the credentials helper, or credentials.tfrc.json if there is no helper.
//
// The store accepts only this host. [Config.Credentials] uses a change at once, but a
// TF_TOKEN_ variable has precedence. The CLI does not read credentials.tfrc.json if
// TF_CLI_CONFIG_FILE is set.
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
		return nil, errors.New("no home directory for a credentials file")
	}
	return &store{Store: auth.CredentialsFile{Path: path}, tokens: t, host: host, file: path}, nil
}

// A store updates the tokens of a Config after each change.
type store struct {
	auth.Store
	tokens *tokens
	host   hostname
	file   string // path, or "" if Store is the helper
}

var errOtherHost = errors.New("the store is for another host")

func (s *store) Save(ctx context.Context, host hostname, token auth.Token) error {
	block := &credential{token: token, place: Place{File: s.file}}
	return s.change(host, block, func() error { return s.Store.Save(ctx, host, token) })
}

func (s *store) Forget(ctx context.Context, host hostname) error {
	return s.change(host, nil, func() error { return s.Store.Forget(ctx, host) })
}

// change calls do. If the store is a file, block is its new content for host.
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
