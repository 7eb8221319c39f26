package module_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// origin is a git repository in a directory.
type origin struct {
	t   testing.TB
	dir string
}

// newOrigin returns a repository with example in its first commit, tagged v1.0.0, and a
// second commit on main. Without git it skips the test.
func newOrigin(t testing.TB) origin {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	first.Do(func() { // git takes longer than copying its files
		o := origin{t, must.Get(os.MkdirTemp("", "origin"))(t)}
		defer os.RemoveAll(o.dir)
		o.git("init", "--quiet", "--template=", "--initial-branch=main")
		write(t, o.dir, example)
		o.commit("first")
		o.git("tag", "-a", "-m", "first", "v1.0.0")
		write(t, o.dir, files{"second.tf": "# two\n"})
		o.commit("second")
		first.files = archivetest.Tree(t, o.dir)
	})
	o := origin{t, filepath.Join(t.TempDir(), "origin")}
	write(t, o.dir, first.files)
	return o
}

// first has the files of the repository that newOrigin makes.
var first struct {
	sync.Once
	files files
}

func (o origin) git(args ...string) string {
	o.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (o origin) commit(message string) string {
	o.t.Helper()
	o.git("add", "--all")
	o.git("commit", "--quiet", "-m", message)
	return o.git("rev-parse", "HEAD")
}

func (o origin) location(rest string) string { return "git::" + fileURL(o.dir) + rest }

// allowed returns options that run git without the configuration of the user.
func allowed() module.Options {
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	return module.Options{Git: &module.Git{Env: env}, AllowLocal: true}
}

func with(f files, more files) files {
	out := files{}
	for _, m := range []files{f, more} {
		for name, content := range m {
			out[name] = content
		}
	}
	return out
}

func TestGit(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	second := o.git("rev-parse", "HEAD")
	first := o.git("rev-parse", "HEAD~1")
	o.git("checkout", "--quiet", "-b", "feature/x")
	write(t, o.dir, files{"third.tf": "# three\n"})
	third := o.commit("third")
	o.git("checkout", "--quiet", "main")
	o.git("branch", "v2.0.0", first) // a branch with the name of a tag
	o.git("tag", "v2.0.0", second)
	o.git("tag", "abcdef1", second) // a tag that looks like a commit
	o.git("branch", "tagged", second)
	o.git("tag", "origin/tagged", first)

	both := with(example, files{"second.tf": "# two\n"})
	for rest, want := range map[string]struct {
		files  files
		commit string
	}{
		"":                                    {both, second},
		"?ref=main":                           {both, second},
		"?ref=v1.0.0":                         {example, first},
		"?ref=refs/tags/v1.0.0":               {example, first},
		"?ref=v1.0.0&depth=1":                 {example, first},
		"?ref=feature/x":                      {with(both, files{"third.tf": "# three\n"}), third},
		"?ref=" + first:                       {example, first},
		"?ref=" + first + "&depth=1":          {example, first},
		"?ref=" + first[:8]:                   {example, first},
		"?ref=" + strings.ToUpper(first[:10]): {example, first},
		"?ref=v2.0.0":                         {both, second},   // tags come first
		"?ref=v2.0.0&depth=1":                 {example, first}, // but branches with a depth
		"?ref=abcdef1":                        {both, second},
		"?ref=abcdef1&depth=1":                {both, second},
		"//modules/a?ref=v1.0.0":              {example, first},
		// As in a clone.
		"?ref=origin/main":              {both, second},
		"?ref=origin/HEAD":              {both, second},
		"?ref=origin/feature/x":         {with(both, files{"third.tf": "# three\n"}), third},
		"?ref=remotes/origin/feature/x": {with(both, files{"third.tf": "# three\n"}), third},
		"?ref=refs/remotes/origin/main": {both, second},
		"?ref=origin/main&depth=1":      {both, second},
		"?ref=refs/heads/main&depth=1":  {both, second},
		"?ref=origin/tagged":            {example, first}, // the tag, not the branch tagged
		"?ref=remotes/origin/tagged":    {both, second},
		"?ref=v1.0.0-1-g" + second[:7]:  {both, second}, // of git describe
		"?ref=v1.0.0-0-g" + first:       {example, first},
		"?ref=nothing-7-g" + third[:10]: {with(both, files{"third.tf": "# three\n"}), third},
	} {
		t.Run(rest, func(t *testing.T) {
			t.Parallel()
			if report := wantPackage(t, nil, o.location(rest), allowed(), want.files); report.Commit != want.commit {
				t.Errorf("commit %s, want %s", report.Commit, want.commit)
			}
		})
	}
}

func TestGitSHA256(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.dir = filepath.Join(t.TempDir(), "other")
	write(t, o.dir, nil)
	o.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main")
	write(t, o.dir, example)
	commit := o.commit("first")
	for _, ref := range []string{"main", commit, commit[:12]} {
		if report := wantPackage(t, nil, o.location("?ref="+ref), allowed(), example); report.Commit != commit || len(commit) != 64 {
			t.Errorf("ref %s: commit %s, want %s", ref, report.Commit, commit)
		}
	}
}

// TestGitPinnedCommit: a branch cannot have the name of a pinned commit.
func TestGitPinnedCommit(t *testing.T) {
	t.Parallel()
	for format, n := range map[string]int{"sha1": 64, "sha256": 40} {
		o := newOrigin(t)
		o.dir = filepath.Join(t.TempDir(), "other")
		write(t, o.dir, nil)
		o.git("init", "--quiet", "--object-format="+format, "--initial-branch=main")
		write(t, o.dir, example)
		o.commit("first")
		pin := strings.Repeat("c", n)
		o.git("branch", pin)
		wantRefused(t, nil, o.location("?ref="+pin), allowed(), failure.ErrNotFound)
	}
}

func TestGitRefused(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	for rest, want := range map[string]error{
		"?ref=none":                       failure.ErrNotFound,
		"?ref=none&depth=1":               failure.ErrNotFound,
		"?ref=origin/none":                failure.ErrNotFound,
		"?ref=remotes/other/main":         failure.ErrNotFound,
		"?ref=v1.0.0-1-g0123456":          failure.ErrNotFound,
		"?ref=0123456":                    failure.ErrNotFound,
		"?ref=" + strings.Repeat("0", 40): nil,
		"//none":                          module.ErrNoSubdir,
	} {
		dir, _, err := get(t, nil, o.location(rest), allowed())
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", rest, err, want)
		}
		wellFormed(t, err)
		absent(t, dir)
	}
	wantRefused(t, nil, "git::file:///no/such/repository", allowed(), failure.ErrNotFound)
	// Protocols that are not allowed.
	local := allowed()
	local.AllowLocal = false
	wantRefused(t, nil, o.location(""), local, module.ErrLocal)
	for _, text := range []string{"git::http://example.com/x.git", "git://example.com/x.git"} {
		if err := wantRefused(t, nil, text, allowed(), failure.ErrInsecure); !strings.Contains(err.Error(), "Git.AllowHTTP") {
			t.Errorf("%s: %v, want the option in it", text, err)
		}
	}
	none := module.Options{Git: &module.Git{Path: "no-such-program"}, AllowLocal: true}
	if err := wantRefused(t, nil, o.location(""), none, exec.ErrNotFound); !strings.Contains(err.Error(), "not installed") {
		t.Errorf("missing program: %v", err)
	}
}

// TestGitReplacedURL checks that the configuration cannot replace a URL by one with another
// protocol.
func TestGitReplacedURL(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	opts := withConfig(t, "[url \""+fileURL(filepath.Dir(o.dir))+"/\"]\n\tinsteadOf = https://git.example.com/\n")
	wantRefused(t, nil, "git::https://git.example.com/origin", opts, failure.ErrInsecure) // file is not allowed for an https location
}

// TestGitEnvironment checks that variables for another repository, as in a hook, have no
// effect.
func TestGitEnvironment(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	opts := allowed()
	opts.Git.Env = append(opts.Git.Env, "GIT_DIR=/nonexistent", "GIT_WORK_TREE=/nonexistent", "GIT_INDEX_FILE=/nonexistent",
		"GIT_OBJECT_DIRECTORY=/nonexistent", "GIT_TRACE=1", "LC_ALL=de_DE.UTF-8", "GIT_ALLOW_PROTOCOL=none", "GIT_TEMPLATE_DIR=/nonexistent",
		"GIT_QUARANTINE_PATH=/nonexistent", "GIT_INTERNAL_SUPER_PREFIX=sub/", "GIT_IMPLICIT_WORK_TREE=1", "GIT_ICASE_PATHSPECS=1", "GIT_CONFIG=/nonexistent")
	for _, ref := range []string{"v1.0.0", o.git("rev-parse", "HEAD~1")[:9]} {
		wantPackage(t, nil, o.location("?ref="+ref), opts, example)
	}
}

// TestGitContentIsExact checks that attributes and the user's settings do not change the
// package, and that no hook runs.
func TestGitContentIsExact(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	content := files{
		".gitattributes": "modules export-ignore\n*.tf export-subst text\n",
		"main.tf":        "# $Format:%H$\n",
		"crlf.txt":       "a\r\nb\r\n",
		"lf.txt":         "a\nb\n",
	}
	write(t, o.dir, content)
	o.commit("attributes")
	hooks := t.TempDir()
	marker := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-merge"} {
		must.Do(t, os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\ntouch '"+marker+"'\n"), 0o755))
	}
	opts := withConfig(t, "[core]\n\tautocrlf = true\n\thooksPath = "+filepath.ToSlash(hooks)+
		"\n[safe]\n\tbareRepository = explicit\n[init]\n\tdefaultObjectFormat = sha256\n")
	wantPackage(t, nil, o.location(""), opts, with(with(example, files{"second.tf": "# two\n"}), content))
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a hook ran")
	}
}

func TestGitLinksAndSubmodules(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // git makes no links there
	}
	o, other := newOrigin(t), newOrigin(t)
	write(t, o.dir, files{"link": "-> /etc/passwd"})
	o.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "file://"+other.dir, "vendored/other")
	o.commit("links")
	wantRefused(t, nil, o.location(""), allowed(), module.ErrLink)
	opts := allowed()
	opts.SkipLinks = true
	dir, report, err := get(t, nil, o.location(""), opts)
	must.Do(t, err)
	if diff := cmp.Diff([]string{"link", "vendored/other"}, report.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	got := tree(t, dir)
	if _, ok := got["vendored/other/main.tf"]; ok || got["main.tf"] != example["main.tf"] {
		t.Errorf("files %v, want example without the submodule", got)
	}
}

// TestGitHostileTree uses repositories that git's own checks would refuse.
func TestGitHostileTree(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".GIT", "git~1", ".gi\u200ct", "a\x01b", `a\b`, ".git ", ".git.", ".git::$INDEX_ALLOCATION"} {
		o := newOrigin(t)
		id := o.git("rev-parse", "HEAD:main.tf")
		cmd := exec.Command("git", "mktree", "-z")
		cmd.Dir, cmd.Stdin = o.dir, strings.NewReader("100644 blob "+id+"\t"+name+"\x00")
		tree, err := cmd.Output()
		if err != nil {
			t.Fatalf("git mktree with %q: %v", name, err)
		}
		commit := o.git("commit-tree", "-m", "evil", strings.TrimSpace(string(tree)))
		o.git("update-ref", "refs/heads/evil", commit)
		wantRefused(t, nil, o.location("?ref=evil"), allowed(), failure.ErrArchive)
	}
}

func TestGitLimits(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	var total int64
	for _, content := range example {
		total += int64(len(content))
	}
	for _, test := range map[string]struct{ fits, tooSmall checksum.Limits }{
		"entries":  {checksum.Limits{Entries: 7}, checksum.Limits{Entries: 6}}, // with three directories
		"unpacked": {checksum.Limits{Unpacked: total}, checksum.Limits{Unpacked: total - 1}},
		"package":  {checksum.Limits{Package: 1 << 20}, checksum.Limits{Package: 100}},
	} {
		opts := allowed()
		opts.Limits = test.fits
		wantPackage(t, nil, o.location("?ref=v1.0.0"), opts, example)
		opts.Limits = test.tooSmall
		wantRefused(t, nil, o.location("?ref=v1.0.0"), opts, failure.ErrTooLarge)
	}
}

// program creates an executable script. Another process writes it, because a file that is
// open for writing during a fork cannot be executed.
func program(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: scripts are no programs on this system")
	}
	path := filepath.Join(t.TempDir(), "git")
	cmd := exec.Command("sh", "-c", `cat > "$0" && chmod 755 "$0"`, path)
	cmd.Stdin = strings.NewReader(text)
	must.Do(t, cmd.Run())
	return path
}

// TestGitIsKilled checks that git and its child processes are killed when the context ends.
func TestGitIsKilled(t *testing.T) {
	t.Parallel()
	newOrigin(t)
	pid := filepath.Join(t.TempDir(), "pid")
	// This git starts a child process that runs for ten minutes.
	script := program(t, "#!/bin/sh\ncase \"$*\" in *' init '*) exec git \"$@\";; esac\nsleep 600 &\necho $! > '"+pid+".tmp'\nmv '"+pid+".tmp' '"+pid+"'\nwait\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(pid); err == nil {
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond) // for a real process
		}
	}()
	dir := target(t)
	start := time.Now()
	_, err := module.Download(ctx, nil, module.Request{Location: at(t, "git::https://git.example.com/x.git"), Dir: dir}, module.Options{Git: &module.Git{Path: script}})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 30*time.Second {
		t.Errorf("error %v after %v, want context.Canceled", err, time.Since(start))
	}
	absent(t, dir)
	data := must.Get(os.ReadFile(pid))(t)
	for range 100 {
		out, _ := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(data))).Output()
		if state := strings.TrimSpace(string(out)); state == "" || strings.HasPrefix(state, "Z") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the child process of git still runs")
}

// TestGitLeavesDaemon checks that git succeeds although a child process keeps its output
// open.
func TestGitLeavesDaemon(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	for verb, streams := range map[string]string{"fetch": ">/dev/null", "rev-parse": "2>/dev/null"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			pid := filepath.Join(t.TempDir(), "pid")
			t.Cleanup(func() {
				if data, err := os.ReadFile(pid); err == nil {
					exec.Command("kill", strings.TrimSpace(string(data))).Run()
				}
			})
			script := program(t, "#!/bin/sh\ncase \"$*\" in *' "+verb+" '*) sleep 600 "+streams+" &\necho $! > '"+pid+"';; esac\nexec git \"$@\"\n")
			opts := allowed()
			opts.Git.Path = script
			dir := target(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			must.Get(module.Download(ctx, nil, module.Request{Location: at(t, o.location("?ref=v1.0.0")), Dir: dir}, opts))(t)
			wantTree(t, dir, example)
		})
	}
}

// TestGitComplaints checks that errors repeat the messages of git without secrets, and
// shortened.
func TestGitComplaints(t *testing.T) {
	t.Parallel()
	newOrigin(t)
	for complaint, want := range map[string]error{
		"fatal: could not read Username for 'https://user:secret@git.example.com': terminal prompts disabled": failure.ErrUnauthorized,
		"fatal: Authentication failed for 'https://secret@git.example.com/x.git/?token=secret'":               failure.ErrUnauthorized,
		"git@git.example.com: Permission denied (publickey).":                                                 failure.ErrUnauthorized,
		"remote: Repository not found.":                                  failure.ErrNotFound,
		"fatal: repository 'https://git.example.com/x.git/' not found":   failure.ErrNotFound,
		"fatal: couldn't find remote ref v9":                             failure.ErrNotFound,
		"fatal: transport 'http' not allowed":                            failure.ErrInsecure,
		"fatal: \\033[2Junable to access":                                nil,
		"$(yes secret-less-but-long | head -c 100000 | tr -d '\\n') end": nil,
	} {
		script := program(t, "#!/bin/sh\ncase \"$*\" in *' init '*) exec git \"$@\";; esac\nprintf \""+complaint+"\\n\" >&2\nexit 128\n")
		loc := at(t, "git::https://user:secret@git.example.com/x.git?ref=v9")
		_, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: target(t)}, module.Options{Git: &module.Git{Path: script}})
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), "git fetch: ") {
			t.Errorf("%q: %v, want %v", complaint, err, want)
		}
		if !strings.Contains(complaint, "less") {
			wellFormed(t, err)
		}
		if len(err.Error()) > 800 {
			t.Errorf("error text of %d bytes, want at most 800", len(err.Error()))
		}
	}
}

// gitServer serves directory dir over http, by git http-backend or as plain files.
func gitServer(t *testing.T, dir string, dumb bool, user string) *httptest.Server {
	t.Helper()
	var handler http.Handler = http.FileServer(http.Dir(dir))
	if !dumb {
		git := must.Get(exec.LookPath("git"))(t)
		handler = &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); user != "" && name+":"+password != user {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestGitHTTP fetches from git http-backend and from a plain file server, with a user in the
// URL.
func TestGitHTTP(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.git("rev-parse", "HEAD~1")
	o.git("branch", "facade") // it looks like a commit
	o.git("update-server-info")
	both := with(example, files{"second.tf": "# two\n"})
	opts := allowed()
	opts.Git.AllowHTTP = true
	for _, server := range map[string]*httptest.Server{
		"smart": gitServer(t, filepath.Dir(o.dir), false, "user:secret"),
		"dumb":  gitServer(t, filepath.Dir(o.dir), true, "user:secret"),
	} {
		host := strings.TrimPrefix(server.URL, "http://")
		for ref, want := range map[string]files{
			"": both, "HEAD": both, "main": both, "refs/heads/main": both,
			"v1.0.0": example, "refs/tags/v1.0.0": example, first: example, first[:9]: example, "facade": both,
		} {
			report := wantPackage(t, nil, "git::http://user:secret@"+host+"/origin/.git?ref="+ref, opts, want)
			if strings.Contains(report.Location, "secret") {
				t.Errorf("Location %q, want no secrets", report.Location)
			}
		}
		for _, user := range []string{"", "user:wrong@"} {
			wantRefused(t, nil, "git::http://"+user+host+"/origin/.git", opts, failure.ErrUnauthorized)
		}
		for _, none := range []string{"/none/.git", "/origin/.git?ref=none", "/origin/.git?ref=abad1dea"} {
			wantRefused(t, nil, "git::http://user:secret@"+host+none, opts, failure.ErrNotFound)
		}
	}
}

// endlessRefs serves references without end, compressed: as the first answer of a server, or as the
// answer to ls-refs.
func endlessRefs(t *testing.T, first bool) *httptest.Server {
	t.Helper()
	line := func(s string) string { return fmt.Sprintf("%04x%s\n", len(s)+5, s) }
	start := line("# service=git-upload-pack") + "0000"
	refs := strings.Repeat(line(strings.Repeat("1", 40)+" HEAD"+strings.Repeat("a", 300)), 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := r.Method == http.MethodGet
		w.Header().Set("Content-Type", map[bool]string{true: "application/x-git-upload-pack-advertisement", false: "application/x-git-upload-pack-result"}[info])
		if info && !first {
			io.WriteString(w, start+line("version 2")+line("ls-refs")+line("fetch=shallow")+line("object-format=sha1")+"0000")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		if info {
			io.WriteString(z, start)
		}
		for {
			if _, err := io.WriteString(z, refs); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestGitMemory checks that git, and the program that it starts for http, use no more memory than
// Git.Memory, whatever the server sends. Files are not held in memory.
func TestGitMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // no limit
	}
	o := newOrigin(t)
	const large, less = 24 << 20, 20 << 20
	write(t, o.dir, files{"zeros": string(make([]byte, large))})
	o.commit("zeros")
	o.git("checkout", "--quiet", "-b", "message", "HEAD~1")
	message := t.TempDir()
	write(t, message, files{"text": strings.Repeat("text\n", large/5)})
	o.git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "-F", filepath.Join(message, "text"))
	own := gitServer(t, filepath.Dir(o.dir), false, "").URL + "/origin/.git"
	for _, tt := range []struct {
		name, url string
		memory    int64
		want      error
	}{
		{"references", endlessRefs(t, true).URL + "/x.git", less, failure.ErrTooLarge},
		{"ls-refs", endlessRefs(t, false).URL + "/x.git", less, failure.ErrTooLarge},
		{"a large file", own + "?ref=main", less, nil},
		{"a large commit", own + "?ref=message", less, failure.ErrTooLarge},
		{"a large commit within the limit", own + "?ref=message", 5 * large, nil},
		{"a large commit by default", own + "?ref=message", 0, nil},
		{"a large commit without a limit", own + "?ref=message", -1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := allowed()
			o.Git.AllowHTTP, o.Git.Memory = true, tt.memory
			dir, _, err := get(t, nil, "git::"+tt.url, o)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), fmt.Sprint(tt.memory, " bytes of memory: set Git.Memory")) {
				t.Errorf("Download with Git.Memory %d: %v, want %v", tt.memory, err, tt.want)
			}
			if err != nil {
				absent(t, dir)
			}
		})
	}
}

// TestGitAsksNobody checks that only GIT_ASKPASS is run to get a password.
func TestGitAsksNobody(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	server := gitServer(t, filepath.Dir(o.dir), false, "user:secret")
	ask := program(t, "#!/bin/sh\ncase \"$1\" in User*) echo user;; *) echo secret;; esac\n")
	home := t.TempDir()
	write(t, home, files{"config": "[core]\n\taskPass = " + ask + "\n"})
	for setting, want := range map[string]error{
		"SSH_ASKPASS=" + ask:                    failure.ErrUnauthorized,
		"GIT_CONFIG_GLOBAL=" + home + "/config": failure.ErrUnauthorized,
		"GIT_ASKPASS=" + ask:                    nil,
	} {
		opts := allowed()
		opts.Git.AllowHTTP = true
		opts.Git.Env = append(opts.Git.Env, setting)
		_, _, err := get(t, nil, "git::"+server.URL+"/origin/.git", opts)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", setting, err, want)
		}
	}
}

func TestGitVetoHost(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	server := gitServer(t, filepath.Dir(o.dir), false, "")
	host := strings.TrimPrefix(server.URL, "http://")
	away := httptest.NewServer(http.RedirectHandler(server.URL+"/origin/.git/info/refs?service=git-upload-pack", http.StatusFound))
	t.Cleanup(away.Close)
	private := errors.New("a private host")
	var asked []string
	opts := allowed()
	opts.Git.AllowHTTP = true
	opts.Git.VetoHost = func(h string) error {
		asked = append(asked, h)
		if h == "internal.example.com:2222" || h == "internal.example.com" || h == "127.0.0.1" || h == "[::1]" {
			return private
		}
		return nil
	}
	if _, _, err := get(t, nil, "git::"+server.URL+"/origin/.git", opts); err != nil {
		t.Error(err)
	}
	// A redirect is not followed, because VetoHost is not called for it.
	if _, _, err := get(t, nil, "git::"+away.URL+"/origin/.git", opts); err == nil {
		t.Error("a redirect was followed")
	}
	for _, text := range []string{
		"git::internal.example.com:x.git", "git::ssh://alice@home@internal.example.com/x.git",
		"git::ssh://git@Internal.Example.COM:2222/x.git", "git@internal.example.com:x.git", "git::https://internal.example.com/x.git",
		"git::https://internal.example.com:443/x.git", "git::ssh://git@internal.example.com:22/x.git",
		"git::https://[::ffff:127.0.0.1]/x.git", "git::https://[0:0:0:0:0:0:0:1]/x.git", "git::https://[::1%25lo]:443/x.git",
	} {
		if err := wantRefused(t, nil, text, opts, private); !strings.Contains(err.Error(), " is not allowed: ") {
			t.Errorf("%s: %v, want the error of VetoHost", text, err)
		}
	}
	// Other spellings of hosts.
	for _, name := range []string{"127.1", "2130706433", "0x7f000001", "internal.example.com.", "１２７.0.0.1"} {
		_, _, err := get(t, nil, "git::https://"+name+"/x.git", opts)
		if err == nil || !strings.Contains(err.Error(), " is not allowed: ") || errors.Is(err, private) {
			t.Errorf("host %s: %v, want it refused without VetoHost", name, err)
		}
	}
	// A file URL has no host.
	if _, _, err := get(t, nil, o.location(""), opts); err != nil {
		t.Error(err)
	}
	want := []string{host, strings.TrimPrefix(away.URL, "http://"), "internal.example.com", "internal.example.com", "internal.example.com:2222", "internal.example.com",
		"internal.example.com", "internal.example.com", "internal.example.com", "127.0.0.1", "[::1]", "[::1]"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("calls of VetoHost (-want +got):\n%s", diff)
	}
}

// withConfig returns options that run git with this user configuration.
func withConfig(t *testing.T, config string) module.Options {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files{"config": config})
	options := allowed()
	options.Git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "config"), "GIT_CONFIG_SYSTEM="+os.DevNull)
	return options
}

// A repository chooses filters of the user's configuration, and git-lfs lets it choose the
// host that the filter contacts. With VetoHost no filter runs.
func TestGitFiltersWithVetoHost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the filter is a shell command")
	}
	o := newOrigin(t)
	write(t, o.dir, files{".gitattributes": "*.bin filter=lfs\n*.tf filter=once\n", "a.bin": "pointer\n", "sub/.gitattributes": "* filter=once\n", "sub/b": "pointer\n"})
	o.commit("filtered")
	ran := filepath.Join(t.TempDir(), "ran")
	options := withConfig(t, `
[filter "lfs"]
	process = touch `+ran+`
	required = true
[filter "once"]
	smudge = touch `+ran+`; echo smudged
	clean = cat
	required = true
`)
	options.Git.VetoHost = func(string) error { return nil }
	dir, _, err := get(t, nil, o.location(""), options)
	must.Do(t, err)
	if got := tree(t, dir); got["a.bin"] != "pointer\n" || got["sub/b"] != "pointer\n" || got["second.tf"] != "# two\n" {
		t.Errorf("the content was filtered: %q, %q, %q", got["a.bin"], got["sub/b"], got["second.tf"])
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a filter ran although Git.VetoHost is set")
	}
	// Without VetoHost the user's filters run.
	options = withConfig(t, "[filter \"once\"]\n\tsmudge = echo smudged\n")
	dir = target(t)
	if _, err := module.Download(t.Context(), nil, module.Request{Location: at(t, o.location("")), Dir: dir}, options); err != nil || tree(t, dir)["sub/b"] != "smudged\n" {
		t.Errorf("without VetoHost: sub/b is %q, %v; want the filter's output", tree(t, dir)["sub/b"], err)
	}
}

// TestGitVetoHostSeesReplacedURL checks that VetoHost is called for a URL that the
// configuration replaces, and for its replacement.
func TestGitVetoHostSeesReplacedURL(t *testing.T) {
	t.Parallel()
	newOrigin(t) // skips without git
	for replacement, want := range map[string]string{
		"ssh://git@internal.example.com:2222/": "internal.example.com:2222",
		"alice@internal.example.com:":          "internal.example.com",
		"internal:":                            "internal",
	} {
		options := withConfig(t, "[url \""+replacement+"\"]\n\tinsteadOf = https://git.example.com/\n")
		private := errors.New("a private host")
		var asked []string
		options.Git.VetoHost = func(host string) error {
			asked = append(asked, host)
			if host == want {
				return private
			}
			return nil
		}
		_, _, err := get(t, nil, "git::https://git.example.com/x.git", options)
		if diff := cmp.Diff([]string{"git.example.com", want}, asked); diff != "" || !errors.Is(err, private) {
			t.Errorf("%s: %v, want the error of VetoHost; calls (-want +got):\n%s", replacement, err, diff)
		}
	}
}

// A server can name another server for a part of the repository, if the configuration permits
// it.
func TestGitVetoHostWithPackElsewhere(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	var contacted atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { contacted.Add(1) }))
	t.Cleanup(elsewhere.Close)
	o.git("config", "uploadpack.allowSidebandAll", "true")
	o.git("config", "uploadpack.blobPackfileUri", o.git("rev-parse", "HEAD:main.tf")+" "+strings.Repeat("0", 40)+" "+elsewhere.URL+"/x.pack")
	server := gitServer(t, filepath.Dir(o.dir), false, "")
	for _, veto := range []func(string) error{nil, func(string) error { return nil }} {
		options := withConfig(t, "[fetch]\n\turiProtocols = http\n")
		options.Git.AllowHTTP, options.Git.VetoHost = true, veto
		contacted.Store(0)
		_, _, err := get(t, nil, "git::"+server.URL+"/origin/.git", options)
		if refused := veto != nil; (err == nil) != refused || (contacted.Load() == 0) != refused {
			t.Errorf("with VetoHost %v: %d requests to the other host, %v", refused, contacted.Load(), err)
		}
	}
}
