package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/weburl"
)

// Git runs the git program for locations of KindGit. The zero Git runs "git".
//
// Git fetches the files of one commit over https or SSH, without history, submodules and tags,
// and runs no hooks. Files with the attribute export-ignore are included. Only the
// repository's attributes convert line ends, so the h1 is the same on all systems.
//
// Git uses the user's configuration, including credential helpers, replaced URLs and filters.
// It never prompts for a password, but runs GIT_ASKPASS. The location's credentials never
// appear in errors, but can appear in the list of processes.
//
// When the context ends, git is killed with the programs that it started.
// They get no signals from the terminal: end the context on an interrupt, see
// [os/signal.NotifyContext].
type Git struct {
	// Path is the program, also a name in the PATH. If empty, it is "git".
	Path string

	// Env is the environment of git. If nil, it is inherited. Variables that name another
	// repository or enable tracing are removed.
	Env []string

	// AllowHTTP permits insecure http:// and git:// URLs.
	AllowHTTP bool

	// Memory limits the memory of git and of each program that it starts, in bytes. If zero, it
	// is 512 MiB; if negative, there is no limit. Beyond it the error is [github.com/tofureg/tofureg/failure.ErrTooLarge]. The limit
	// needs Linux and /bin/sh, or Windows.
	Memory int64

	// VetoHost, if not nil, is called with the host of each repository URL, also where the
	// user's configuration replaces it, see
	// [github.com/tofureg/tofureg/transport.Client.VetoHost]. An error refuses the repository.
	// Proxies, credential helpers and SSH configuration are not checked. With VetoHost, git
	// follows no redirects and runs no filters; files in git-lfs arrive as pointers.
	VetoHost func(host string) error
}

// gitError describes a failed run of git.
type gitError struct {
	verb string
	text string // the output of git, cleaned
	kind error  // an error of this package, or of os/exec
}

func (e *gitError) Error() string {
	if e.text == "" {
		return "git " + e.verb + ": " + e.kind.Error()
	}
	return "git " + e.verb + ": " + e.text
}

func (e *gitError) Unwrap() error { return e.kind }

// protocols returns the protocols that git may use, also after redirects and replacements of
// the URL.
func (g *Git) protocols(scheme string) ([]string, error) {
	switch scheme {
	case "https", "ssh", "git+ssh", "ssh+git":
		return []string{"https", "ssh"}, nil
	case "file": // fetch has checked AllowLocal
		return []string{"https", "ssh", "file"}, nil
	case "http", "git":
		if g.AllowHTTP {
			return []string{"https", "ssh", "http", "git"}, nil
		}
		return nil, fmt.Errorf("the repository is at a %s URL, which only Git.AllowHTTP permits: %w", scheme, ErrInsecure)
	}
	return nil, fmt.Errorf("the repository is at a URL that git is not allowed to use: %w", ErrInsecure)
}

// command prepares a run of git in the repository.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.git.program(), slices.Concat(r.git.settings(), args)...)
	cmd.Dir = r.dir
	cmd.Env = r.git.Env
	cmd.Env = append(gitEnvironment(cmd.Environ(), r.protocols), "GIT_DIR="+r.dir)
	return cmd
}

// memory returns the limit, which is not positive if there is none.
func (g *Git) memory() int64 { return cmp.Or(g.Memory, 512<<20) }

// program returns the name or the absolute path of git, which runs in another directory.
func (g *Git) program() string {
	program := cmp.Or(g.Path, "git")
	if filepath.Base(program) != program {
		if path, err := absolute(program); err == nil {
			return path
		}
	}
	return program // in the PATH
}

// settings returns arguments before the verb. They take precedence over all configuration.
func (g *Git) settings() []string {
	settings := []string{
		"core.hooksPath=" + os.DevNull,
		"core.attributesFile=" + os.DevNull,
		"core.fsmonitor=false",
		"core.autocrlf=false",
		"core.eol=lf",
		"core.longPaths=true", // on Windows
		"core.quotePath=false",
		"protocol.ext.allow=never",
		"fetch.recurseSubmodules=false",
		"fetch.writeCommitGraph=false",
		"gc.auto=0",
		// Hold no larger files in memory; unpack-objects, for small packs, would in old versions.
		"core.bigFileThreshold=16m",
		"fetch.unpackLimit=1",
		"core.deltaBaseCacheLimit=32m", // for each thread
		"pack.threads=2",
		"maintenance.auto=false",
		"tar.umask=0022",
		"init.defaultObjectFormat=sha1",
		"init.defaultRefFormat=files",
		// Abort a transfer over http after 120 seconds without data.
		"http.lowSpeedLimit=1",
		"http.lowSpeedTime=120",
	}
	if g.VetoHost != nil {
		// Ignore other servers that the server names for parts of the repository.
		settings = append(settings, "http.followRedirects=false", "fetch.uriProtocols=", "fetch.bundleURI=", "transfer.bundleURI=false", "promisor.acceptFromServer=none")
	}
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// gitEnvironment returns env without variables that name another repository, and with
// variables that forbid prompts and other protocols.
func gitEnvironment(env, protocols []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name := variable(s)
		return strings.HasPrefix(name, "GIT_TRACE") || slices.Contains([]string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
			"GIT_TEMPLATE_DIR", "GIT_CURL_VERBOSE", "GIT_DEFAULT_HASH", "GIT_ATTR_SOURCE", "GIT_LITERAL_PATHSPECS",
			"GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_CONFIG", "GIT_IMPLICIT_WORK_TREE",
			"GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH",
		}, name)
	})
	// An empty GIT_ASKPASS disables core.askPass and SSH_ASKPASS.
	for _, unless := range []string{"GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never"} {
		if !slices.ContainsFunc(env, func(s string) bool { return variable(s) == variable(unless) }) {
			env = append(env, unless)
		}
	}
	return append(env,
		"GIT_ALLOW_PROTOCOL="+strings.Join(protocols, ":"),
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0",
		"LC_ALL=C",
		"LANGUAGE=",
	)
}

// variable returns the name of the variable in s.
func variable(s string) string {
	name, _, _ := strings.Cut(s, "=")
	if runtime.GOOS == "windows" { // case does not count
		name = strings.ToUpper(name)
	}
	return name
}

// veto calls VetoHost with the canonical form of the host of a repository.
func (g *Git) veto(u *url.URL) error {
	if g.VetoHost == nil || u.Scheme == "file" {
		return nil
	}
	host, _, err := weburl.Host(u)
	if err == nil && strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		err = errors.New("it is not in ASCII") // git converts it in another way
	}
	if err == nil {
		err = g.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("host %q is not allowed: %w", weburl.Clean(strings.ToLower(u.Host), maxInput), err)
	}
	return nil
}
