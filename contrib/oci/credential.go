package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	secrets "github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/failure"
)

// credential returns the function that provides the credential of one repository. Only the host of
// the repository gets it, which for docker.io is registry-1.docker.io. If there is one, has is set.
func (c *Client) credential(ref registry.Reference, has *atomic.Bool) auth.CredentialFunc {
	if c.Credential == nil {
		return nil
	}
	chosen := sync.OnceValues(func() (cliconfig.OCICredential, error) {
		return c.Credential(ref.Registry + "/" + ref.Repository)
	})
	return func(ctx context.Context, host string) (found auth.Credential, err error) {
		defer func() { has.Store(has.Load() || err == nil && found != auth.EmptyCredential) }()
		if host != ref.Host() {
			return auth.EmptyCredential, nil
		}
		credential, err := chosen()
		if err != nil {
			return auth.EmptyCredential, &CredentialError{Registry: ref.Registry, Err: err}
		}
		if credential.Helper != "" {
			return runHelper(ctx, credential.Helper, ref.Registry)
		}
		return auth.Credential{
			Username: credential.Username, Password: credential.Password.Reveal(),
			AccessToken: credential.AccessToken.Reveal(), RefreshToken: credential.RefreshToken.Reveal(),
		}, nil
	}
}

// configured returns the credential of a configuration for a repository: the first one with the
// longest matching prefix, of the blocks and then of the Docker-style files. Each call reads
// the files.
func configured(config *cliconfig.Config, repository string) (cliconfig.OCICredential, error) {
	known := config.OCICredentials()
	best, most := cliconfig.OCICredential{}, -1
	for _, c := range known.Blocks {
		if n := matches(c.Prefix, repository); n > most {
			best, most = c, n
		}
	}
	var found []dockerEntry
	for _, file := range known.Files {
		entries, err := dockerFile(file)
		if err != nil && !known.Ambient {
			return best, err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if config.Logger != nil {
				config.Logger.Warn("ignored Docker-style credentials", "reason", err)
			}
			found = nil // as in OpenTofu, all are ignored
			break
		}
		found = append(found, entries...)
	}
	var chosen *dockerEntry
	for i, e := range found {
		if n := matches(e.prefix, repository); n > most {
			chosen, most = &found[i], n
		}
	}
	if chosen == nil {
		return best, nil
	}
	c := cliconfig.OCICredential{Prefix: chosen.prefix, Helper: chosen.helper, Place: cliconfig.Place{File: chosen.file}}
	if c.Helper == "" {
		username, password, ok := strings.Cut(chosen.auth, ":")
		if !ok {
			return c, fmt.Errorf("%v: auth of %.200q: it must be USERNAME:PASSWORD in base64", c.Place, c.Prefix)
		}
		c.Username, c.Password = username, secrets.NewPassword(password)
	}
	return c, nil
}

// matches returns the number of path elements in the prefix, or -1 if the prefix does not match
// the repository.
func matches(prefix, repository string) int {
	switch {
	case prefix == "":
		return 0
	case prefix == repository, strings.HasPrefix(repository, prefix+"/"):
		return strings.Count(prefix, "/") + 1
	}
	return -1
}

// maxDockerFile is the maximum size of a Docker-style file in bytes.
const maxDockerFile = 1 << 20

// A dockerEntry is an entry of a Docker-style file: USERNAME:PASSWORD, or a helper.
type dockerEntry struct{ file, prefix, auth, helper string }

// Docker stores the credential of Docker Hub under this key, in files and in helpers.
const (
	dockerHub    = "docker.io"
	dockerHubKey = "https://index.docker.io/v1/"
)

// dockerFile reads a Docker-style file, see containers-auth.json(5). As in OpenTofu, entries
// without "auth", whose secrets a helper stores, are ignored. The key of Docker Hub is its host, unless
// the file also has an entry for that.
func dockerFile(file string) (entries []dockerEntry, err error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
		err = &fs.PathError{Op: "open", Path: file, Err: errors.New("exists and is not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDockerFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDockerFile {
		return nil, fmt.Errorf("%q has more than %d bytes: %w", file, maxDockerFile, failure.ErrTooLarge)
	}
	var content struct {
		Auths map[string]*struct {
			Auth []byte `json:"auth"`
		} `json:"auths"`
		CredHelpers map[string]string `json:"credHelpers"`
		CredsStore  string            `json:"credsStore"`
	}
	if json.Unmarshal(data, &content) != nil { // the error can contain parts of the file
		return nil, fmt.Errorf("%q is not a valid Docker-style configuration file", file)
	}
	useHost(content.Auths)
	for prefix, entry := range content.Auths {
		if prefix != "" && entry != nil && len(entry.Auth) > 0 {
			entries = append(entries, dockerEntry{file: file, prefix: prefix, auth: string(entry.Auth)})
		}
	}
	useHost(content.CredHelpers)
	for host, helper := range content.CredHelpers {
		if helper != "" && host != "" && !strings.Contains(host, "/") {
			entries = append(entries, dockerEntry{file: file, prefix: host, helper: helper})
		}
	}
	if content.CredsStore != "" {
		entries = append(entries, dockerEntry{file: file, helper: content.CredsStore})
	}
	return entries, nil
}

// useHost moves the entry of Docker Hub to its host.
func useHost[V any](entries map[string]V) {
	entry, ok := entries[dockerHubKey]
	if _, known := entries[dockerHub]; ok && !known {
		entries[dockerHub] = entry
	}
	delete(entries, dockerHubKey)
}

// runHelper runs docker-credential-HELPER from PATH until it has a credential: first for the host as
// Docker stores it, then for the URL that OpenTofu asks for. The output may be secret, so errors do not
// contain it.
func runHelper(ctx context.Context, helper, host string) (auth.Credential, error) {
	if strings.ContainsAny(helper, "/\\\x00") {
		return auth.EmptyCredential, &CredentialError{Registry: host, Err: fmt.Errorf("invalid program name %.200q", "docker-credential-"+helper)}
	}
	keys := []string{host, "https://" + host}
	if host == dockerHub {
		keys = append(keys, dockerHubKey)
	}
	var failed error // of the first key; a helper may refuse a form that it does not know
	for _, key := range keys {
		found, err := credentials.NewNativeStore(helper).Get(ctx, key)
		switch {
		case err == nil && found != auth.EmptyCredential:
			return found, nil
		case err == nil || failed != nil:
		case ctx.Err() != nil:
			failed = context.Cause(ctx)
		case errors.Is(err, exec.ErrNotFound):
			failed = fmt.Errorf("the program %q is not in PATH", "docker-credential-"+helper)
		default:
			failed = fmt.Errorf("the program %q failed", "docker-credential-"+helper)
		}
	}
	if failed != nil {
		return auth.EmptyCredential, &CredentialError{Registry: host, Err: failed}
	}
	return auth.EmptyCredential, nil
}
