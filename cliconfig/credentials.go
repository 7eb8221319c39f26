package cliconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A credential is the content of a credentials block.
type credential struct {
	token   auth.Token // zero if the block has no usable token
	err     error      // why the token cannot be used
	place   Place
	earlier *credential // of an earlier file, or nil
}

const helperPrefix = "terraform-credentials-"

// A helper is the content of a credentials_helper block.
type helper struct {
	name  string
	args  []string
	place Place
	path  string // of the program, or "" if it was not found
}

// findHelper returns the absolute path of the newest program with the name, or "" if
// there is no such program.
func (s System) findHelper(name string) string {
	var newest addrs.Version
	found := ""
	var dirs []string
	for _, dir := range s.dataDirs() {
		plugins := s.abs(s.join(dir, "plugins"))
		dirs = append(dirs, plugins, s.join(plugins, s.GOOS+"_"+s.GOARCH))
	}
	for _, dir := range dirs {
		files, err := s.list(dir, func(file string) bool { return strings.HasPrefix(file, helperPrefix) })
		if err != nil {
			continue // usually the directory does not exist
		}
		slices.Sort(files)
		for _, file := range files {
			version, ok := helperVersion(file, name)
			path := s.join(dir, file)
			if !ok || !s.isAbs(path) || found != "" && version.Compare(newest) <= 0 {
				continue
			}
			if info, err := s.stat(path); err == nil && !info.IsDir() {
				newest, found = version, path
			}
		}
	}
	return found
}

// helperVersion returns the version in the name of a file, or the zero Version if the name
// has no version. It returns false if the file is not the named helper.
func helperVersion(file, name string) (addrs.Version, bool) {
	base := strings.TrimSuffix(strings.ToLower(file), ".exe")
	base, text, versioned := strings.Cut(strings.TrimPrefix(base, helperPrefix), "_v")
	if base != name { // as in the CLI, a name with capitals is never found
		return addrs.Version{}, false
	}
	if !versioned {
		return addrs.Version{}, true
	}
	text, _, _ = strings.Cut(text, "_x") // a suffix of old installers
	v, err := addrs.ParseVersion(text)
	return v, err == nil
}

// tokens is the source of the user's tokens.
type tokens struct {
	set     *settings
	environ *auth.Environment
	program auth.Store       // the credentials helper, or nil
	helper  auth.Invalidator // program with a cache, or nil

	mu     sync.Mutex
	blocks map[svchost.Hostname]*credential
}

var _ auth.Invalidator = (*tokens)(nil)

func (c *Config) userTokens() *tokens {
	return c.user.get(func() *tokens {
		s := c.settings()
		environ := s.system().Environ
		t := &tokens{set: s, environ: auth.Environ(environ), blocks: maps.Clone(s.credentials)}
		if h := s.helper; h != nil {
			// A pointer, so that printing a Config does not print the arguments, which can be secrets.
			t.program = &auth.Helper{Path: h.path, Args: h.args, Env: func() []string { return environ }}
			t.helper = auth.Cached(t.program, 0)
		}
		return t
	})
}

// Token returns the token of host.
func (t *tokens) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	token, _, err := t.find(ctx, host)
	return token, err
}

// find returns the token of host and its place, or the zero Place if the configuration has
// nothing for the host.
func (t *tokens) find(ctx context.Context, host svchost.Hostname) (auth.Token, Place, error) {
	token, err := auth.Lookup(ctx, t.environ, host)
	if err != nil || !token.IsZero() {
		return token, Place{Variable: t.environ.Variable(host)}, err
	}
	if block := t.block(host); block != nil {
		if block.err != nil {
			err = &auth.SourceError{Host: host, Source: block.place.String(), Err: block.err}
		}
		return block.token, block.place, err
	}
	if t.helper == nil {
		return auth.Token{}, Place{}, nil
	}
	token, err = auth.Lookup(ctx, t.helper, host)
	if err == nil && token.IsZero() {
		return token, Place{}, nil
	}
	return token, Place{File: t.set.helper.path}, err
}

func (t *tokens) block(host svchost.Hostname) *credential {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blocks[host]
}

// Invalidate removes the answer of the helper from the cache.
func (t *tokens) Invalidate(host svchost.Hostname) {
	if t.helper != nil {
		t.helper.Invalidate(host)
	}
}

func (t *tokens) String() string { return "CLI configuration" }

// Format prints String for every verb.
func (t *tokens) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// TokenOrigin returns the place of the user's token, see [Config.Credentials]. It may run the credentials helper. The
// place is zero for an unknown host. For a block without a token, found is false.
func (c *Config) TokenOrigin(ctx context.Context, host svchost.Hostname) (from Place, found bool, err error) {
	token, from, err := c.userTokens().find(ctx, host)
	return from, !token.IsZero(), err
}

// ErrNotWritable means that only the user may change the file with the token.
var ErrNotWritable = errors.New("the token is in a configuration file that programs do not change; edit the file")

// Store returns the store that login and logout of the CLI change for a host:
//
//   - credentials.tfrc.json in the configuration directory, if it has the host's last credentials block;
//   - no store, with [ErrNotWritable], if that block is in another file;
//   - otherwise the credentials helper, or without one credentials.tfrc.json.
//
// Save and Forget accept only this host. [Config.Credentials] uses a change at once. If a variable names the main file,
// [Load] and the CLI do not read credentials.tfrc.json.
func (c *Config) Store(host svchost.Hostname) (auth.Store, error) {
	t := c.userTokens()
	path := t.set.store
	block := t.block(host)
	switch {
	case block != nil && block.place.File != path:
		return nil, fmt.Errorf("%s: %w", block.place, ErrNotWritable)
	case block == nil && t.program != nil:
		return &store{inner: t.program, tokens: t, host: host}, nil
	case path == "":
		return nil, errors.New("no home directory for a credentials file")
	}
	return &store{inner: auth.CredentialsFile{Path: path}, tokens: t, host: host, file: path}, nil
}

// A store updates the tokens of a Config after each change.
type store struct {
	inner  auth.Store
	tokens *tokens
	host   svchost.Hostname
	file   string // path, or "" if inner is the helper
}

var errOtherHost = errors.New("the store is for another host")

func (s *store) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	return s.inner.Token(ctx, host)
}

func (s *store) Save(ctx context.Context, host svchost.Hostname, token auth.Token) error {
	if host != s.host {
		return errOtherHost
	}
	return s.changed(&credential{token: token, place: Place{File: s.file}}, s.inner.Save(ctx, host, token))
}

func (s *store) Forget(ctx context.Context, host svchost.Hostname) error {
	if host != s.host {
		return errOtherHost
	}
	return s.changed(nil, s.inner.Forget(ctx, host))
}

// changed updates the tokens after a change. If the store is a file, block is its new content
// for the host; if it is nil, the block of an earlier file counts again.
func (s *store) changed(block *credential, err error) error {
	if err == nil && s.file != "" {
		s.tokens.mu.Lock()
		defer s.tokens.mu.Unlock()
		earlier := s.tokens.blocks[s.host]
		if earlier != nil && earlier.place.File == s.file {
			earlier = earlier.earlier
		}
		if block == nil {
			block = earlier
		} else {
			block.earlier = earlier
		}
		s.tokens.blocks[s.host] = block
	}
	s.tokens.Invalidate(s.host)
	return err
}

func (s *store) String() string { return fmt.Sprint(s.inner) }

// Format prints String for every verb.
func (s *store) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }
