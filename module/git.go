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

// Git says how to run the git program to fetch from locations of KindGit. The zero Git runs
// the program "git" in the PATH.
//
// Git fetches the files of one commit, without history, submodules and tags. It checks
// nothing out and runs no hook: the files come as an archive that git makes, and the rules
// for archives apply. Files that attributes exclude from exports are included.
//
// Git reads the user's configuration, with its credential helpers and replaced URLs. Line
// ends are converted only as the attributes of the repository say, so that the h1 is the
// same on all systems. Filters of the user, such as the one of git-lfs, run unless VetoHost
// is set.
//
// Git and SSH never ask for a password on a terminal; they run the program that GIT_ASKPASS
// in the environment names. When the context ends, git is killed with the programs that it
// started; on Windows only git is killed. They have no terminal and get no signal from one:
// a program should end the context when it is interrupted, see [signal.NotifyContext].
//
// Git uses https and SSH only. User names and passwords never appear in errors. While git
// runs, those of the location may appear in the list of processes.
type Git struct {
	// Path is the path of the program, or a name to find in the PATH. If empty, "git"
	// is used.
	Path string

	// Env is the environment of git in the form "KEY=VALUE". If nil, the environment of
	// this process is used. Variables that name another repository or turn on tracing
	// are left out.
	Env []string

	// AllowHTTP permits http:// and git:// URLs, which do not protect the content
	// against changes on the way.
	AllowHTTP bool

	// VetoHost, if not nil, is called before each repository is fetched with the
	// host, or host:port, in its URL, in the form that VetoHost of transport.Client is
	// called with; an error refuses the repository. If the user's configuration of git
	// replaces the URL, VetoHost is called with the host of the other URL as well. It
	// does not see what the user configures elsewhere: host names and proxies of SSH,
	// proxies of git, and credential helpers.
	//
	// With VetoHost, git follows no redirect and runs no filter, because both let the
	// repository choose a host to contact. Files in git-lfs then arrive as pointers.
	VetoHost func(host string) error
}

// gitError says why git failed.
type gitError struct {
	verb string
	text string // of the program, cleaned
	kind error  // a sentinel, or what os/exec says
}

func (e *gitError) Error() string {
	if e.text == "" {
		return "git " + e.verb + ": " + e.kind.Error()
	}
	return "git " + e.verb + ": " + e.text
}

func (e *gitError) Unwrap() error { return e.kind }

// protocols returns the protocols that git may use, also where a server redirects it
// or where the user's configuration replaces the URL.
func (g *Git) protocols(scheme string) ([]string, error) {
	switch scheme {
	case "https", "ssh", "git+ssh", "ssh+git":
		return []string{"https", "ssh"}, nil
	case "file": // which fetch has permitted
		return []string{"https", "ssh", "file"}, nil
	case "http", "git":
		if g.AllowHTTP {
			return []string{"https", "ssh", "http", "git"}, nil
		}
		return nil, fmt.Errorf("the repository is at a %s URL, which only Git.AllowHTTP permits: %w", scheme, ErrInsecure)
	}
	return nil, fmt.Errorf("the repository is at a URL that git is not allowed to use: %w", ErrInsecure)
}

// command prepares one run of git in the repository.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.git.program(), slices.Concat(r.git.settings(), args)...)
	cmd.Dir = r.dir
	cmd.Env = r.git.Env
	cmd.Env = append(gitEnvironment(cmd.Environ(), r.protocols), "GIT_DIR="+r.dir)
	isolate(cmd)
	return cmd
}

// program returns the name of git or its path, which must not count from the directory
// that git runs in.
func (g *Git) program() string {
	program := cmp.Or(g.Path, "git")
	if filepath.Base(program) != program {
		if path, err := absolute(program); err == nil {
			return path
		}
	}
	return program // to be found in the PATH
}

// settings come before the verb. They take precedence over all configuration.
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
		"maintenance.auto=false",
		"tar.umask=0022",
		"init.defaultObjectFormat=sha1",
		"init.defaultRefFormat=files",
		// Over http, a transfer that stands still for this long has failed.
		"http.lowSpeedLimit=1",
		"http.lowSpeedTime=120",
	}
	if g.VetoHost != nil {
		// Nor may the server name others that have a part of the repository.
		settings = append(settings, "http.followRedirects=false", "fetch.uriProtocols=", "fetch.bundleURI=", "transfer.bundleURI=false", "promisor.acceptFromServer=none")
	}
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// gitEnvironment returns env without what would lead git elsewhere, and with what
// keeps it from asking and from using other protocols.
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
	// An empty program is none: neither core.askPass nor SSH_ASKPASS take its place.
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

// variable returns the name of the variable that s sets.
func variable(s string) string {
	name, _, _ := strings.Cut(s, "=")
	if runtime.GOOS == "windows" { // in any case
		name = strings.ToUpper(name)
	}
	return name
}

// veto asks about the host of a repository, in the one form that it has.
func (g *Git) veto(u *url.URL) error {
	if g.VetoHost == nil || u.Scheme == "file" {
		return nil
	}
	host, _, err := weburl.Host(u)
	if err == nil && strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		err = errors.New("it is not in ASCII") // git has its own way to map it
	}
	if err == nil {
		err = g.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("host %s is not allowed: %w", weburl.Clean(strings.ToLower(u.Host), maxInput), err)
	}
	return nil
}
