package cliconfig

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/auth"
)

// An OCICredential is a credential for OCI repositories: name and password, two tokens, or a helper program. The zero
// OCICredential is anonymous.
type OCICredential struct {
	// Prefix is "HOST[:PORT][/PATH]", or empty for all repositories. The longest prefix of whole path elements is used.
	Prefix string

	// Username and Password are for basic authentication.
	Username string
	Password auth.Password

	AccessToken, RefreshToken auth.Password // for OAuth

	Helper string // if not empty, the program docker-credential-HELPER; has no slashes

	Place Place // of the block
}

// OCICredentials are the settings of credentials for OCI registries.
type OCICredentials struct {
	// Blocks are from oci_credentials, then docker_credentials_helper of oci_default_credentials.
	Blocks []OCICredential

	// Files are Docker-style files with more credentials. Of equal prefixes, Blocks and then earlier files count. Files
	// are docker_style_config_files, or unless discover_ambient_credentials is false:
	//
	//	$XDG_RUNTIME_DIR/containers/auth.json   on Linux
	//	~/.config/containers/auth.json          on Windows and macOS, or without XDG_CONFIG_HOME
	//	$XDG_CONFIG_HOME/containers/auth.json
	//	~/.docker/config.json
	//	~/.dockercfg
	Files []string

	Ambient bool // Files are these places, and can be missing
}

// OCICredentials returns the credentials for github.com/tofureg/tofureg/contrib/oci.
func (c *Config) OCICredentials() OCICredentials {
	s := c.settings()
	d := &s.ociDefaults
	result := OCICredentials{Blocks: slices.Clone(s.oci), Files: slices.Clone(d.files)}
	if d.helper != "" {
		result.Blocks = append(result.Blocks, OCICredential{Helper: d.helper, Place: d.place})
	}
	if !d.noAmbient && !d.fixed {
		result.Files, result.Ambient = s.system().dockerFiles(), true
	}
	return result
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

// ociDefaults is the content of the block oci_default_credentials.
type ociDefaults struct {
	helper    string
	place     Place
	noAmbient bool
	fixed     bool     // files replace the default Docker-style files
	files     []string // absolute paths
}

// ociCredentials reads a block oci_credentials.
func (r *fileReader) ociCredentials(it item) {
	if !r.json && len(it.names) == 1 {
		r.errorf(it.at(), "a block %q has one label: a repository address or a prefix of it", it.name())
		return
	}
	r.labelled(it, r.ociCredentialsBlock)
}

func (r *fileReader) ociCredentialsBlock(label name, body value) {
	const block = "oci_credentials"
	path, ok := splitRepository(label.text)
	if !ok {
		r.errorf(label.at, `the label of a block "oci_credentials" must be "HOST[:PORT]" or "HOST[:PORT]/PATH"`)
		return
	}
	args := map[string]string{}
	for _, it := range body.body {
		switch name := strings.ToLower(it.name()); name {
		case "username", "password", "access_token", "refresh_token", "docker_credentials_helper":
			text, ok := r.text(it)
			if !ok {
				return
			}
			args[name] = text
		default:
			r.unknown(it, block)
		}
	}
	c := OCICredential{Prefix: label.text, Place: r.place(label.at)}
	if why := c.fill(args, path); why != "" {
		r.errorf(label.at, "a block \"oci_credentials\" %s", why)
		return
	}
	if slices.ContainsFunc(r.set.oci, func(o OCICredential) bool { return o.Prefix == c.Prefix }) {
		r.errorf(label.at, "a second block \"oci_credentials\" for %s", quote(label.text))
		return
	}
	r.set.oci = append(r.set.oci, c)
}

// fill sets one of the three groups of arguments. It returns the cause of an error, or "".
func (c *OCICredential) fill(args map[string]string, path string) string {
	has := func(name string) bool { _, ok := args[name]; return ok }
	basic := has("username") || has("password")
	tokens := has("access_token") || has("refresh_token")
	helper := has("docker_credentials_helper")
	const groups = "username and password, access_token and refresh_token, or docker_credentials_helper"
	switch {
	case !basic && !tokens && !helper:
		return "needs " + groups
	case basic && tokens || basic && helper || tokens && helper:
		return "has only one of these: " + groups
	case basic && !(has("username") && has("password")):
		return "needs username and password together"
	case tokens && !(has("access_token") && has("refresh_token")):
		return "needs access_token and refresh_token together"
	case helper && path != "":
		return "with a path cannot have docker_credentials_helper, which is for whole hosts"
	case helper && !validDockerHelper(args["docker_credentials_helper"]):
		return badDockerHelper
	}
	c.Username, c.Password, c.Helper = args["username"], auth.NewPassword(args["password"]), args["docker_credentials_helper"]
	c.AccessToken, c.RefreshToken = auth.NewPassword(args["access_token"]), auth.NewPassword(args["refresh_token"])
	return ""
}

// ociDefaultCredentials reads the block oci_default_credentials.
func (r *fileReader) ociDefaultCredentials(it item) {
	const block = "oci_default_credentials"
	if !r.isBlock(it) {
		return
	}
	if r.set.ociDefaults.place != (Place{}) {
		r.errorf(it.at(), "a second block %q", block)
		return
	}
	d := ociDefaults{place: r.place(it.at())}
	for _, arg := range it.value.body {
		switch strings.ToLower(arg.name()) {
		case "discover_ambient_credentials":
			on, ok := r.boolean(arg)
			d.noAmbient = ok && !on
		case "docker_style_config_files":
			d.fixed = true
			for _, f := range r.texts(arg) {
				file := f.text
				if r.file != "" && !r.sys.isAbs(file) { // relative to the configuration file
					file = r.sys.join(r.file, "..", file)
				}
				d.files = append(d.files, r.sys.abs(file))
			}
		case "docker_credentials_helper":
			d.helper, _ = r.text(arg)
			if !validDockerHelper(d.helper) {
				r.errorf(arg.value.at, "a block %q %s", block, badDockerHelper)
			}
		default:
			r.unknown(arg, block)
		}
	}
	if d.noAmbient && d.fixed {
		r.errorf(it.at(), `"docker_style_config_files" needs "discover_ambient_credentials" to be true`)
	}
	r.set.ociDefaults = d
}

const badDockerHelper = "needs a docker_credentials_helper that is a valid end of a program name, without slashes"

func validDockerHelper(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\\x00")
}

// repositoryName is the grammar of <name> in the OCI distribution specification, section
// "Pulling manifests".
var repositoryName = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)

// splitRepository splits "HOST[:PORT][/PATH]".
func splitRepository(address string) (path string, ok bool) {
	host, path, slash := strings.Cut(address, "/")
	u, err := url.ParseRequestURI("dummy://" + host)
	if err != nil || host == "" || u.Host != host {
		return "", false
	}
	return path, !slash || repositoryName.MatchString(path)
}
