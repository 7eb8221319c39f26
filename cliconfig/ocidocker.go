package cliconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/auth"
)

// OCICredentials returns the credentials for OCI registries in order of precedence:
//
//   - the blocks oci_credentials;
//   - docker_credentials_helper of the block oci_default_credentials;
//   - the Docker-style files: docker_style_config_files, or else
//     $XDG_RUNTIME_DIR/containers/auth.json (on Windows and macOS
//     ~/.config/containers/auth.json), $XDG_CONFIG_HOME/containers/auth.json,
//     ~/.docker/config.json and ~/.dockercfg.
//
// Each call reads the Docker-style files. The error is a [*Problem] of
// docker_style_config_files. If a default file is unreadable or invalid, all are ignored, and
// this is logged.
func (c *Config) OCICredentials() ([]OCICredential, error) {
	s := c.settings()
	list := slices.Clone(s.oci)
	d := &s.ociDefaults
	if d.helper != "" {
		list = append(list, OCICredential{Helper: d.helper, Place: d.helperAt})
	}
	if d.noAmbient {
		return list, nil
	}
	sys, files := s.system(), d.files
	if !d.fixed {
		files = sys.dockerFiles()
	}
	var found []OCICredential
	for _, file := range files {
		more, err := sys.dockerFile(file)
		switch {
		case err == nil:
			found = append(found, more...)
		case d.fixed:
			return nil, &Problem{Place: Place{File: file}, Message: oneLine(err), Err: err}
		case !isNotExist(err):
			if c.Logger != nil {
				c.Logger.Warn("ignored Docker-style credentials", "file", file, "reason", oneLine(err))
			}
			return list, nil
		}
	}
	return append(list, found...), nil
}

// OCICredential returns the credential for a repository, "HOST[:PORT]/NAME": the first
// credential of [Config.OCICredentials] with the longest matching prefix, or the zero
// OCICredential.
func (c *Config) OCICredential(repository string) (OCICredential, error) {
	list, err := c.OCICredentials()
	if err != nil {
		return OCICredential{}, err
	}
	best, most := OCICredential{}, -1
	for _, candidate := range list {
		if n := candidate.matches(repository); n > most {
			best, most = candidate, n
		}
	}
	if best.err != nil {
		return OCICredential{}, &Problem{Place: best.Place, Message: best.err.Error(), Err: best.err}
	}
	return best, nil
}

// matches returns the number of path elements in the prefix, or -1 if the prefix does not
// match the repository.
func (c *OCICredential) matches(repository string) int {
	switch {
	case c.Prefix == "":
		return 0
	case c.Prefix == repository, strings.HasPrefix(repository, c.Prefix+"/"):
		return strings.Count(c.Prefix, "/") + 1
	}
	return -1
}

// dockerFiles returns the default Docker-style files, see containers-auth.json(5).
func (s System) dockerFiles() []string {
	first, dotConfig := "", s.join(s.Home, ".config")
	switch {
	case s.GOOS == "linux":
		first = s.getenv("XDG_RUNTIME_DIR")
	case s.GOOS == "darwin", s.windows():
		first = dotConfig
	}
	return slices.Compact(nonEmpty(
		s.join(first, "containers", "auth.json"),
		s.join(cmp.Or(s.getenv(envXDGConfig), dotConfig), "containers", "auth.json"),
		s.join(s.Home, ".docker", "config.json"),
		s.join(s.Home, ".dockercfg"),
	))
}

// dockerFile reads the credentials in a Docker-style file. Like the CLI, it ignores entries
// without "auth", whose secrets a helper stores.
func (s System) dockerFile(file string) ([]OCICredential, error) {
	data, err := s.read(file)
	if err != nil {
		return nil, err
	}
	var content struct {
		Auths map[string]*struct {
			Auth []byte `json:"auth"`
		} `json:"auths"`
		CredHelpers map[string]string `json:"credHelpers"`
		CredsStore  string            `json:"credsStore"`
	}
	if json.Unmarshal(data, &content) != nil { // the error can contain parts of the file
		return nil, &fs.PathError{Op: "read", Path: file, Err: errors.New("invalid Docker-style configuration file")}
	}
	place := Place{File: file}
	var list []OCICredential
	for _, prefix := range slices.Sorted(maps.Keys(content.Auths)) {
		entry := content.Auths[prefix]
		if _, ok := splitRepository(prefix); !ok || entry == nil || len(entry.Auth) == 0 {
			continue
		}
		list = append(list, dockerAuth(prefix, string(entry.Auth), place))
	}
	for _, host := range slices.Sorted(maps.Keys(content.CredHelpers)) {
		if helper := content.CredHelpers[host]; helper != "" && host != "" && !strings.Contains(host, "/") {
			list = append(list, dockerHelper(host, helper, place))
		}
	}
	if content.CredsStore != "" {
		list = append(list, dockerHelper("", content.CredsStore, place))
	}
	return list, nil
}

func dockerAuth(prefix, pair string, place Place) OCICredential {
	c := OCICredential{Prefix: prefix, Place: place}
	username, password, ok := strings.Cut(pair, ":")
	if !ok {
		c.err = fmt.Errorf("auth of %s: it must be USERNAME:PASSWORD in base64", quote(prefix))
		return c
	}
	c.Username, c.Password = username, auth.NewPassword(password)
	return c
}

func dockerHelper(prefix, helper string, place Place) OCICredential {
	c := OCICredential{Prefix: prefix, Helper: helper, Place: place}
	if !validDockerHelper(helper) {
		c.err = fmt.Errorf("invalid program name %s", quote("docker-credential-"+helper))
	}
	return c
}
