package module

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Git tells how to run the git program to fetch from locations of KindGit. The zero
// Git runs the program that is found in the PATH.
//
// Only the files of one commit are fetched, without history, submodules or tags.
// Nothing is checked out: the files come as git's own archive and pass through the
// rules for archives; what attributes exclude from exports is there, too. So no hook
// runs, and no .git directory is left. The user's configuration of git holds, and
// with it credential helpers and replaced URLs. Line ends however are converted only
// as the repository's own attributes say, so that the h1 is the same on each system.
// A filter that is configured there, such as the one of git-lfs, runs unless VetoHost is
// set.
//
// Git and SSH ask nobody for a password; only a program that the environment names in
// GIT_ASKPASS is run, as a helper that knows it. Git is killed with the programs that
// it runs when the context ends; on Windows they are left to themselves. As they have
// no terminal, they get no signal from one: a program that does not end the context
// when it is interrupted, as with signal.NotifyContext, leaves git running.
//
// Git may use https and SSH. User names and passwords do not get into errors, though
// as long as git runs they can be in the list of processes, if a location has any.
type Git struct {
	// Path is the program; empty: "git". If it is relative, it counts from the working
	// directory; a mere name is looked for in the PATH.
	Path string

	// Env is its environment, each as "KEY=VALUE"; nil: that of this process.
	// Variables that point git to another repository are left out, as are
	// those that make it trace.
	Env []string

	// AllowHTTP lets repositories be at http:// and git:// URLs, over which
	// others can change what comes.
	AllowHTTP bool

	// VetoHost, if not nil, is called before each repository is fetched with the
	// host, or host:port, in its URL, in the form that regclient.Client.VetoHost is
	// called with; an error refuses the repository. If the user's configuration of git
	// replaces the URL, VetoHost is called with the host of the other URL as well. It
	// does not see what the user configures elsewhere: host names and proxies of SSH,
	// proxies of git, and credential helpers.
	//
	// With VetoHost, git follows no redirect and runs no filter, because with both
	// the repository chooses the host to contact. Files that git-lfs keeps
	// elsewhere then arrive as pointers.
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
func (g *Git) protocols(scheme string, local bool) ([]string, error) {
	allowed := []string{"https", "ssh"}
	switch scheme {
	case "https", "ssh", "git+ssh", "ssh+git":
	case "http", "git":
		if !g.AllowHTTP {
			return nil, fmt.Errorf("the repository is at a %s URL, which only Git.AllowHTTP permits: %w", scheme, ErrInsecure)
		}
		return append(allowed, "http", "git"), nil
	case "file":
		if !local {
			return nil, fmt.Errorf("%w, which only Options.AllowLocal permits", ErrLocal)
		}
		return append(allowed, "file"), nil
	default:
		return nil, fmt.Errorf("the repository is at a URL that git is not allowed to use: %w", ErrInsecure)
	}
	return allowed, nil
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
	if g.Path == "" {
		return "git"
	}
	if filepath.Base(g.Path) == g.Path {
		return g.Path // to be found in the PATH
	}
	if path, err := absolute(g.Path); err == nil {
		return path
	}
	return g.Path
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
