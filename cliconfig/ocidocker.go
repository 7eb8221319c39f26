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

// OCICredentials returns the credentials for OCI registries as OpenTofu has them, with the
// credential that takes precedence first:
//
//   - the blocks oci_credentials;
//   - docker_credentials_helper of the block oci_default_credentials;
//   - those of the Docker-style files, which are docker_style_config_files, or else
//     $XDG_RUNTIME_DIR/containers/auth.json (on Windows and macOS
//     ~/.config/containers/auth.json), $XDG_CONFIG_HOME/containers/auth.json,
//     ~/.docker/config.json and ~/.dockercfg.
//
// Each call reads the Docker-style files. If one of docker_style_config_files cannot be
// read, that is a [*Problem]. If one of the other files exists and cannot be read, none of
// them counts, as in OpenTofu, and the Logger is told. No program is run.
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
		case !absent(err):
			if c.Logger != nil {
				c.Logger.Warn("Docker-style credentials ignored", "file", file, "reason", oneLine(err))
			}
			return list, nil
		}
	}
	return append(list, found...), nil
}

// OCICredential returns the credential for a repository, "HOST[:PORT]/NAME": the one of
// [Config.OCICredentials] whose prefix has the most elements in common with it, of several
// the first one. If there is none, the result is the zero OCICredential.
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

// matches returns how many elements of the repository the prefix names, -1 if it is the
// prefix of other repositories.
func (c *OCICredential) matches(repository string) int {
	switch {
	case c.Prefix == "":
		return 0
	case c.Prefix == repository, strings.HasPrefix(repository, c.Prefix+"/"):
		return strings.Count(c.Prefix, "/") + 1
	}
	return -1
}

// dockerFiles returns the places of Docker-style files, see containers-auth.json(5).
func (s System) dockerFiles() []string {
	first, dotConfig := "", s.join(s.Home, ".config")
	switch {
	case s.GOOS == "linux":
		first = s.getenv("XDG_RUNTIME_DIR")
	case s.GOOS == "darwin", s.windows():
		first = dotConfig
	}
	return slices.Compact(known(
		s.join(first, "containers", "auth.json"),
		s.join(cmp.Or(s.getenv(envXDGConfig), dotConfig), "containers", "auth.json"),
		s.join(s.Home, ".docker", "config.json"),
		s.join(s.Home, ".dockercfg"),
	))
}

// dockerFile reads the credentials of a Docker-style file. Entries without "auth" are what
// a login leaves whose secrets a helper keeps; the CLI passes over them too.
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
	if json.Unmarshal(data, &content) != nil { // the error may repeat what stands in the file
		return nil, &fs.PathError{Op: "read", Path: file, Err: errors.New("this is not a valid Docker-style configuration file")}
	}
	place := Place{File: file}
	var list []OCICredential
	for _, prefix := range slices.Sorted(maps.Keys(content.Auths)) {
		entry := content.Auths[prefix]
		if _, _, ok := splitRepository(prefix); !ok || entry == nil || len(entry.Auth) == 0 {
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
		c.err = fmt.Errorf("the auth of %s is not the base64 encoding of USERNAME:PASSWORD", shown(prefix))
		return c
	}
	c.Username, c.Password = username, auth.NewPassword(password)
	return c
}

func dockerHelper(prefix, helper string, place Place) OCICredential {
	c := OCICredential{Prefix: prefix, Helper: helper, Place: place}
	if !validDockerHelper(helper) {
		c.err = fmt.Errorf("%s cannot be the end of a program's name", shown("docker-credential-"+helper))
	}
	return c
}
