package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/module/manifest"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The limits of modules: their number, nested calls, and the bytes of their keys and sources.
const (
	maxModules = 10_000
	maxTexts   = 4 << 20
	maxCalls   = 50
)

// Module is a module of a configuration.
type Module struct {
	Key     string         `json:"key"`              // names of the calls, joined by dots; empty for the configuration itself
	Source  string         `json:"source,omitempty"` // as the CLI writes it, without the constraint
	Version addrs.Version  `json:"version,omitzero"` // zero unless from a registry
	Dir     string         `json:"dir,omitempty"`    // relative to [Dir.Path], or absolute
	Called  Place          `json:"called,omitzero"`  // the block that calls it
	Report  *module.Report `json:"report,omitempty"` // of the download, nil if the module was there or is local

	// Held are newer versions that would fit and are not old enough, see [cooldown.Modules]. It is empty if the version
	// was not chosen now.
	//
	// [cooldown.Modules]: https://pkg.go.dev/github.com/tofureg/tofureg/cooldown#Modules
	Held []module.Held `json:"held,omitempty"`

	// Missing is true in a plan for a module that would be fetched, and after ReadTree for one that cannot be read. The
	// modules and providers in it are unknown.
	Missing bool `json:"missing,omitempty"`

	// Calls are the module blocks of the module, sorted by key. Modules of one directory may share Calls, Providers and Contents.
	Calls []Call `json:"calls,omitempty"`

	// Providers are the requirements of the module itself, sorted by place.
	Providers []Requirement `json:"providers,omitempty"`

	Contents
}

// Call is a module block, or one in a run block of a test.
type Call struct {
	Key     string `json:"key"`               // name of the block; of a test, the key below the configuration
	Source  string `json:"source,omitempty"`  // the literal or the value; empty for an expression that is not evaluated
	Version string `json:"version,omitempty"` // the constraint, likewise; empty if there is none

	// SourceText and VersionText are the texts of expressions, otherwise empty.
	SourceText  string `json:"source_text,omitempty"`
	VersionText string `json:"version_text,omitempty"`

	Place Place `json:"place"`

	// Err is why an expression cannot be evaluated, otherwise nil.
	Err error `json:"-"`

	at                 hcl.Range
	sourced, versioned bool // has a source or version that is not null
}

// errOutside: a local module is not in the package of its caller.
var errOutside = errors.New("outside of the package")

// A walk installs the modules of a configuration and reads them.
type walk struct {
	dir      *Dir // a copy
	plan     bool
	base     string        // absolute path of the working directory, without links
	data     string        // data directory as the CLI names it
	store    *manifest.Dir // directory of packages; nil if it does not exist
	manifest manifest.File // before this run
	group    *errgroup.Group
	slots    *semaphore.Weighted // of downloads
	asking   *semaphore.Weighted // of modules that are looked for, because each takes memory

	reading sync.Mutex                // one file is parsed at a time, because that takes memory
	configs map[string]*configuration // by directory
	budget  budget
	given   map[string]*hcl.Attribute // values of variables in files; nil until one is needed
	failed  error                     // of reading these files
	paths   paths
	texts   atomic.Int64 // bytes of the keys and sources of modules

	room     atomic.Int64 // bytes for more packages
	versions once[addrs.Module, *module.Versions]
	found    once[string, *module.Location]
	fetched  once[string, *module.Report]

	lists    bool // the contents of modules
	verify   bool // compare installed modules with the lock, which is a plan
	tolerant bool // go on after errors, and leave out what is not installed, which is a plan

	mu       sync.Mutex
	beside   []error // of verify or tolerant
	lock     *modulelock.File
	locked   map[modulelock.Key]bool // the sources of all modules
	visited  manifest.File           // the records of this run
	dropped  []string                // keys
	modules  []Module
	called   int // modules that these call
	warnings []string
}

// A spot is the place of a module in the tree.
type spot struct {
	record manifest.Record
	files  files
	at     string   // key of the module whose package this one is in; empty for the user's own files
	pkg    string   // name of that package in the store
	inside string   // directory in the package
	fresh  bool     // installed now, or below such a module
	calls  []string // locations of the packages from the configuration to this one
	dirs   []string // directories from the package to this module
	depth  int
	called Place
	report *module.Report
	held   []module.Held

	walk   *walk
	parent *spot  // of the calling module; nil for the configuration itself
	name   string // key of the call
	config *configuration
	known  map[string]*thunk // by "var.NAME" and "local.NAME"
}

// visit reads a module and the modules that it calls.
func (w *walk) visit(ctx context.Context, at *spot) error {
	if at.depth > maxCalls {
		return w.tolerate(ctx, &ConfigError{Place{File: at.record.Dir}, fmt.Sprintf("more than %d nested module calls", maxCalls)})
	}
	if slices.Contains(at.dirs, at.record.Dir) {
		return w.tolerate(ctx, &ConfigError{Place{File: at.record.Dir}, "the module calls itself through " + strings.Join(at.dirs, ", ")})
	}
	m, err := w.module(ctx, at)
	if err = w.tolerate(ctx, err); err != nil {
		return err
	}
	if m == nil {
		m = &Module{Key: at.record.Key, Source: at.record.Source, Called: at.called, Missing: true}
	}
	w.mu.Lock()
	w.called += len(m.Calls)
	number := 1 + w.called
	w.mu.Unlock()
	if number > maxModules { // before they are evaluated
		return &ConfigError{Place{File: at.record.Dir}, fmt.Sprintf("more than %d modules", maxModules)}
	}
	w.evaluate(ctx, at, m)
	w.mu.Lock()
	w.visited[at.record.Key] = at.record
	w.modules = append(w.modules, *m)
	w.mu.Unlock()
	var local []Call // they wait for nothing, so that goroutines would only take memory
	for _, c := range m.Calls {
		if w.tolerant || strings.HasPrefix(c.Source, ".") {
			local = append(local, c)
		} else {
			w.group.Go(func() error {
				if err := w.asking.Acquire(ctx, 1); err != nil {
					return err
				}
				next, err := w.find(ctx, at, c)
				w.asking.Release(1)
				return w.follow(ctx, at, c, next, err)
			})
		}
	}
	for _, c := range local {
		next, err := w.find(ctx, at, c)
		if err := w.follow(ctx, at, c, next, err); err != nil {
			return err
		}
	}
	return nil
}

// follow visits the module that a block calls, if it was found.
func (w *walk) follow(ctx context.Context, at *spot, c Call, next *spot, err error) error {
	if err == nil {
		return w.visit(ctx, next)
	}
	w.mu.Lock()
	w.modules = append(w.modules, Module{Key: keyOf(at, c), Source: c.Source, Called: c.Place, Missing: true})
	w.mu.Unlock()
	return w.tolerate(ctx, err)
}

// tolerate keeps an error beside the result if the walk is tolerant, unless the context has ended.
func (w *walk) tolerate(ctx context.Context, err error) error {
	if err == nil || !w.tolerant || ctx.Err() != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.beside) < maxProblems {
		w.beside = append(w.beside, err)
	}
	return nil
}

// keyOf returns the key of the module that a block calls.
func keyOf(at *spot, c Call) string { return strings.TrimPrefix(at.record.Key+"."+c.Key, ".") }

// module reads a module, unless it is missing, and returns what is known of it beside its problems.
func (w *walk) module(ctx context.Context, at *spot) (m *Module, err error) {
	m = &Module{
		Key: at.record.Key, Source: at.record.Source, Dir: at.record.Dir, Called: at.called, Report: at.report, Held: at.held,
		Missing: at.pkg == "" && at.files.dir == "", // in a plan
	}
	if m.Version, err = recordedVersion(at.record); err != nil || m.Missing {
		return m, err
	}
	if err = w.read(ctx, at); err != nil {
		return nil, err
	}
	m.Calls, m.Providers, m.Contents = at.config.list, at.config.providers, at.config.Contents
	if len(at.config.problems) > 0 {
		return m, at.config.problems
	}
	return m, nil
}

// evaluate evaluates the sources and versions of the calls of a module.
func (w *walk) evaluate(ctx context.Context, at *spot, m *Module) {
	if at.config != nil && at.config.evaluated {
		m.Calls = slices.Clone(m.Calls)
		apart(func() {
			for i := range m.Calls {
				at.evaluate(ctx, &m.Calls[i])
			}
		})
	}
}

// apart calls a function that may recurse deeply. Its stack is freed at once, and not kept by a goroutine that waits.
// A panic of hcl reaches the caller, who may recover.
func apart(f func()) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	if v := <-done; v != nil {
		panic(v)
	}
}

// read reads the module at a place, once for all calls.
func (w *walk) read(ctx context.Context, at *spot) (err error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	id := at.pkg + "\x00" + cmp.Or(at.inside, at.files.dir)
	if at.config = w.configs[id]; at.config != nil {
		return nil
	}
	f := at.files
	if at.pkg != "" {
		base := w.store.Root.Name()
		pkg, err := w.paths.resolve(ctx, base, at.pkg, true)
		if err != nil {
			return err
		}
		base = filepath.Join(base, pkg)
		inside, err := w.paths.resolve(ctx, base, at.inside, true)
		if err != nil {
			return err
		}
		root, err := w.store.Root.OpenRoot(pkg + asDirectory)
		if err != nil {
			return err
		}
		defer root.Close()
		f = files{root, base, inside, at.record.Dir}
	}
	w.budget.ctx = ctx
	apart(func() { at.config, err = w.dir.configuration(f, at.record.Key == "", w.lists, &w.budget) })
	if errors.Is(err, fs.ErrNotExist) && at.parent != nil {
		err = &ConfigError{at.called, fmt.Sprintf("module %q: %v", at.record.Key, err)}
	}
	if err != nil {
		return err
	}
	w.configs[id] = at.config
	return nil
}

// find finds or installs the module that a block calls.
func (w *walk) find(ctx context.Context, at *spot, to Call) (*spot, error) {
	if to.Err != nil {
		return nil, to.Err
	}
	next := &spot{walk: w, known: map[string]*thunk{}, parent: at, name: to.Key, depth: at.depth + 1, called: to.Place, fresh: at.fresh, calls: slices.Clip(at.calls)}
	switch key := len(at.record.Key) + len(to.Key); {
	case key > maxText:
		return nil, wrong(to.at, "module %.100q: the names of the calls have more than %d bytes", to.Key, maxText)
	case w.texts.Add(int64(key+len(to.Source))) > maxTexts:
		return nil, wrong(to.at, "module %.100q: the names and sources of all modules have more than %d bytes", to.Key, maxTexts)
	}
	next.record.Key = keyOf(at, to)
	var address module.Address
	var constraint addrs.ModuleConstraint
	var err error
	if to.versioned || to.VersionText != "" && w.dir.Terraform && !w.dir.since("1.15.5") { // otherwise, null is as if it were not set
		if _, err = addrs.ParseModuleSourceIn(w.dir.host(), to.Source); err == nil {
			constraint, err = w.constraint(ctx, to)
		}
	}
	if err == nil {
		address, err = module.ParseAddressIn(w.dir.host(), to.Source)
	}
	if err == nil && address.Path != "" {
		err = w.local(ctx, next, at, address.Path)
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), wrong(to.at, "module %q: %v", to.Key, err))
	}
	if address.Path == "" {
		next.at = next.record.Key
		if !w.plan { // which writes nothing, and assumes that the directory is free
			if err = w.store.Claim(next.record.Key); err != nil {
				return nil, wrong(to.at, "%v", err)
			}
		}
		entry := modulelock.Entry{}
		if entry.Key, err = modulelock.KeyOf(to.Source, to.Version); err == nil && to.SourceText+to.VersionText != "" {
			entry.Key = entry.Key.WithValues(cmp.Or(to.SourceText, to.Source), cmp.Or(to.VersionText, to.Version))
		}
		if err == nil || !w.dir.LockModules || errors.Is(err, modulelock.ErrLocal) {
			err = w.remote(ctx, next, at, constraint, address, entry)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: module %q: %w", to.Place, to.Key, err)
		}
	}
	return next, nil
}

// constraint parses the version of a call.
func (w *walk) constraint(ctx context.Context, to Call) (addrs.ModuleConstraint, error) {
	w.reading.Lock() // because a long one takes memory
	defer w.reading.Unlock()
	w.budget.ctx = ctx
	w.budget.charge(to.at, constraintWork(to.Version))
	if _, err := w.budget.result(value{}); err != nil {
		return addrs.ModuleConstraint{}, err
	}
	return moduleConstraint(to.Version)
}

// local finds a module beside its caller.
func (w *walk) local(ctx context.Context, next, from *spot, source string) error {
	next.record.Source, next.at, next.pkg = source, from.at, from.pkg
	next.dirs = append(slices.Clone(from.dirs), from.record.Dir)
	old, ok := w.recorded(next)
	if !ok || old.Source != source || w.dir.Upgrade {
		w.drop(next)
	}
	base, at := w.base, filepath.FromSlash(from.record.Dir)
	if from.pkg != "" {
		base, at = filepath.Join(w.store.Root.Name(), from.pkg), from.inside
	}
	dir, err := w.paths.resolve(ctx, base, filepath.Join(at, filepath.FromSlash(source)), from.pkg != "")
	if errors.Is(err, errOutside) {
		return fmt.Errorf("%s is outside of the package in %s", source, path.Join(w.modulesDir(), from.at))
	}
	if err == nil && from.pkg != "" { // the CLI names the directory by its real path
		next.inside = dir
		base, err = w.paths.resolve(ctx, w.base, filepath.FromSlash(w.modulesDir()), false)
		dir = filepath.Join(base, from.at, dir)
	}
	next.record.Dir = filepath.ToSlash(dir)
	if w.verify && err == nil && ok && old.Dir != next.record.Dir { // the CLI believes the manifest
		w.differs(next, fmt.Errorf("the manifest has the directory %q, not %q", old.Dir, next.record.Dir))
	}
	next.files = files{dir: abs(w.base, dir), name: next.record.Dir}
	return err
}

// recorded returns what the manifest has of a module, unless that has been dropped.
func (w *walk) recorded(at *spot) (r manifest.Record, ok bool) {
	if !at.fresh {
		r, ok = w.manifest[at.record.Key]
	}
	return r, ok
}

// drop drops a module, and those that it calls, from the manifest.
func (w *walk) drop(at *spot) {
	if at.fresh { // with the module that calls it
		return
	}
	at.fresh = true
	w.mu.Lock()
	w.dropped = append(w.dropped, at.record.Key)
	w.mu.Unlock()
}

// modulesDir returns the directory of packages as the CLI names it.
func (w *walk) modulesDir() string { return path.Join(filepath.ToSlash(w.data), "modules") }

// remote installs a package unless it is installed.
func (w *walk) remote(ctx context.Context, to, from *spot, constraint addrs.ModuleConstraint, address module.Address, entry modulelock.Entry) (err error) {
	to.record.Source = address.Source()
	location := address.Location
	isLocal := location != nil && location.Kind == module.KindLocal
	locks := w.dir.LockModules && !isLocal
	old, ok := w.recorded(to)
	w.mu.Lock()
	locked, isLocked := w.lock.Get(entry.Key)
	if locks {
		w.locked[entry.Key] = true
	}
	w.mu.Unlock()
	switch {
	case isLocal && from.pkg != "":
		return module.ErrLocal
	case locks && !isLocked && w.dir.ReadOnly:
		return fmt.Errorf("%s has no entry for %s: run without ReadOnly to lock it", modulelock.Name, entry.Key)
	case locks && w.verify:
		return w.compare(ctx, to, old, constraint, address, locked)
	}
	reuse := ok && !w.dir.Upgrade && (!locks || isLocked && old.Version == locked.Version.String())
	if reuse {
		if reuse, err = w.installed(ctx, to, old, constraint, address); err != nil {
			return err
		}
	}
	if reuse && locks && w.dir.Rehash {
		got, err := w.store.Hash(ctx, to.pkg)
		reuse = err == nil && got == locked.Hash
	}
	if reuse {
		return w.approve(ctx, to, address)
	}
	to.pkg, to.inside = "", ""
	w.drop(to)
	if w.tolerant {
		return nil
	}
	if w.dir.Registry == nil && !isLocal && (location == nil || !w.plan) {
		return fmt.Errorf("%w: the module is not installed, and Dir.Registry is nil", failure.ErrOffline)
	}
	if location == nil {
		if !w.dir.Upgrade {
			entry.Version = locked.Version
		}
		location, err = w.locate(ctx, to, address.Registry, &entry.Version, constraint)
		to.record.Version = entry.Version.String()
	}
	if err != nil || w.plan {
		return err
	}
	made, err := w.store.Stage(to.record.Key)
	if err != nil {
		return err
	}
	if isLocal {
		if linked, err := w.link(to, location, made); linked || err != nil {
			return err
		}
	}
	if locked.Commit != "" && !w.dir.Upgrade && location.Ref == "" { // a branch moves; a tag that moved is an error below
		pinned := *location
		pinned.Ref, location = locked.Commit, &pinned
	}
	want := checksum.Hash{}
	if isLocked && !w.dir.Upgrade && (w.dir.Modules.KeepLinks || locked.Hash.Scheme() == checksum.SchemeH1) {
		want = locked.Hash
	}
	if err := w.fetch(ctx, to, location, made, from.pkg == "" && address.Location != nil, want); err != nil || !locks {
		return err
	}
	entry.Commit, entry.Hash = to.report.Commit, to.report.H1
	if to.report.Cached && entry.Commit == "" { // the hash has found it
		entry.Commit = locked.Commit
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if isLocked && !w.dir.Upgrade {
		if err := locked.Check(entry); err != nil {
			return err
		}
	}
	return w.lock.Set(entry)
}

// approve asks whether an installed package may be used.
func (w *walk) approve(ctx context.Context, to *spot, address module.Address) error {
	if w.dir.Modules.Approve == nil || w.tolerant {
		return nil
	}
	version, err := recordedVersion(to.record)
	if err != nil {
		return err
	}
	location := module.Location{Module: address.Registry.Module, Version: version, Subdir: address.Registry.Subdir}
	if address.Location != nil {
		location = *address.Location
	}
	if refused := w.dir.Modules.Approve(ctx, location); refused != nil {
		return &failure.RefusedError{Err: refused}
	}
	return nil
}

// compare compares the package of an earlier run with the lock.
func (w *walk) compare(ctx context.Context, to *spot, old manifest.Record, constraint addrs.ModuleConstraint, address module.Address, locked modulelock.Entry) (err error) {
	found := locked
	installed, err := w.installed(ctx, to, old, constraint, address)
	switch {
	case err != nil:
	case locked.Hash.IsZero():
		err = fmt.Errorf("%s has no entry for it", modulelock.Name)
	case !installed:
		err = errors.New("it is not installed, or not from the source that the configuration names")
	default:
		if found.Hash, err = w.store.Hash(ctx, to.pkg); err == nil {
			found.Version, _ = recordedVersion(old) // installed has read it
			err = locked.Check(found)
		}
	}
	if ctx.Err() == nil && err != nil {
		w.differs(to, err)
	}
	return ctx.Err()
}

// differs notes how a module differs from what is locked.
func (w *walk) differs(to *spot, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beside = append(w.beside, fmt.Errorf("module %q: %w", to.record.Key, err))
}

// installed reports whether the package of an earlier run suits the module block, and uses it. The error says that this is
// not known.
func (w *walk) installed(ctx context.Context, to *spot, old manifest.Record, constraint addrs.ModuleConstraint, address module.Address) (bool, error) {
	if old.Source != to.record.Source || len(old.Dir) > maxText || path.Clean(old.Dir) != old.Dir {
		return false, nil
	}
	if v, err := recordedVersion(old); err != nil || !v.IsZero() && !constraint.Allows(v) {
		return false, nil
	}
	pkg := path.Join(w.modulesDir(), to.record.Key)
	inside, ok := strings.CutPrefix(old.Dir+"/", pkg+"/")
	if !ok || w.store == nil {
		return false, nil
	}
	inside = cmp.Or(strings.TrimSuffix(inside, "/"), ".")
	sub, end := address.Registry.Subdir, inside
	if address.Location != nil {
		sub = address.Location.Subdir
	}
	if address.Location == nil || address.Location.MayBePage() { // they may name a directory before that of the source
		parts := strings.Split(inside, "/")
		end = strings.Join(parts[max(0, len(parts)-1-strings.Count(sub, "/")):], "/")
		sub = cmp.Or(sub, end)
	}
	if !w.paths.spend(len(sub) * len(end)) { // which a pattern takes
		return false, errPaths
	}
	if same, err := path.Match(cmp.Or(sub, "."), end); err == nil && !same {
		return false, nil
	}
	inside = filepath.FromSlash(inside)
	dir, err := w.paths.resolve(ctx, w.store.Root.Name(), filepath.Join(to.record.Key, inside), true)
	if ctx.Err() != nil || errors.Is(err, errPaths) {
		return false, err
	}
	if err != nil {
		return w.linked(ctx, to, old)
	}
	info, err := os.Lstat(filepath.Join(w.store.Root.Name(), dir))
	if err != nil || !info.IsDir() {
		return false, nil
	}
	to.record, to.pkg, to.inside = old, to.record.Key, inside
	return true, nil
}

// linked reports whether the module is a directory of the user that a link in the store leads to, as the CLI makes
// it for an absolute path, and uses it.
func (w *walk) linked(ctx context.Context, to *spot, old manifest.Record) (bool, error) {
	target, err := w.store.Root.Readlink(to.record.Key)
	if err != nil || !filepath.IsAbs(target) || !strings.HasPrefix(to.record.Source, "file://") {
		return false, nil
	}
	dir, err := w.paths.resolve(ctx, w.base, filepath.FromSlash(old.Dir), false)
	if ctx.Err() != nil || errors.Is(err, errPaths) {
		return false, err
	}
	dir = abs(w.base, dir)
	if info, failed := os.Lstat(dir); err != nil || failed != nil || !info.IsDir() {
		return false, nil
	}
	to.record, to.files = old, files{dir: dir, name: old.Dir}
	return true, nil
}

// locate chooses a version of a module, unless it is locked, and asks the registry where it is. A plan does not need that.
func (w *walk) locate(ctx context.Context, to *spot, source addrs.ModuleSource, version *addrs.Version, constraint addrs.ModuleConstraint) (location *module.Location, err error) {
	if version.IsZero() {
		versions, failed := w.versions.do(source.Module, func() (*module.Versions, error) {
			v, err := w.dir.Registry.ModuleVersions(ctx, source.Module)
			if err == nil && v == nil {
				err = errors.New("the source returned no versions")
			}
			return v, err
		})
		if err = failed; err == nil {
			*version, err = versions.Newest(constraint)
			to.held = versions.HeldFor(constraint, *version)
		}
	}
	if err != nil || w.plan {
		return nil, err
	}
	location, err = w.found.do(source.Module.String()+" "+version.String(), func() (*module.Location, error) {
		l, err := w.dir.Registry.ModuleLocation(ctx, source.Module, *version)
		switch {
		case err == nil && l == nil:
			err = errors.New("the source returned no location")
		case err == nil && l.Kind == module.KindLocal:
			err = fmt.Errorf("%w: a registry must not name %q", module.ErrLocal, l)
		}
		return l, err
	})
	if err == nil {
		location, err = location.WithSubdir(source.Subdir)
	}
	if err == nil {
		location.Module, location.Version = source.Module, *version
	}
	return location, err
}

// link makes the link to an absolute path of the user that the CLI makes. It returns false for an archive.
func (w *walk) link(to *spot, location *module.Location, made string) (bool, error) {
	u, err := url.Parse(location.URL)
	if err != nil {
		return false, err
	}
	dir := filepath.FromSlash(u.Path)
	if name := strings.TrimPrefix(dir, `\`); filepath.VolumeName(name) != "" { // of /C:/x on Windows
		dir = name
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false, err
	}
	if err := w.store.Root.Symlink(dir, made); err != nil {
		return false, err
	}
	to.record.Dir = path.Join(w.modulesDir(), to.record.Key, location.Subdir)
	to.files = files{dir: filepath.Join(dir, filepath.FromSlash(location.Subdir)), name: to.record.Dir}
	return true, nil
}

// fetch puts a package into the private directory of this run. A package that several modules call is fetched once
// and copied, because a module may write into its own directory. The hash finds it in a cache. If another package is there,
// that one is fetched.
func (w *walk) fetch(ctx context.Context, to *spot, location *module.Location, made string, own bool, want checksum.Hash) error {
	options := w.dir.Modules
	options.AllowLocal, options.Replace = own, false
	id := *location
	id.Module, id.Version = addrs.Module{}, addrs.Version{}
	if !location.MayBePage() {
		id.Subdir = "" // a page may name a directory of its own
	}
	to.calls = append(to.calls, fmt.Sprintf("%+v//%s", id, location.Subdir))
	if last := len(to.calls) - 1; slices.Contains(to.calls[:last], to.calls[last]) {
		return fmt.Errorf("the package at %s calls itself", location)
	}
	if options.Cache == nil {
		want = checksum.Hash{}
	}
	get := func(want checksum.Hash) (*module.Report, error) {
		return w.fetched.do(fmt.Sprintf("%+v %s", id, want), func() (*module.Report, error) { return w.download(ctx, location, made, options, want) })
	}
	first, err := get(want)
	if !want.IsZero() && errors.Is(err, checksum.ErrMismatch) {
		first, err = get(checksum.Hash{})
	}
	switch target := filepath.Join(w.store.Root.Name(), made); {
	case errors.Is(err, module.ErrNoSubdir): // the first call wanted a directory that does not exist
		to.report, err = w.download(ctx, location, made, options, checksum.Hash{})
	case err == nil && first.Dir == target:
		to.report = first
	case err == nil:
		options.AllowLocal, options.Progress = true, nil
		path := "/" + strings.TrimPrefix(filepath.ToSlash(first.Dir), "/") // also of C:/x
		from := &module.Location{Kind: module.KindLocal, URL: (&url.URL{Scheme: "file", Path: path}).String(), Subdir: location.Subdir}
		if location.MayBePage() {
			from.Subdir = first.Subdir
		}
		to.report, err = w.download(ctx, from, made, options, checksum.Hash{})
	}
	if err != nil {
		return err
	}
	report := *first
	report.Dir, report.Subdir = abs(w.base, filepath.Join(w.data, "modules", to.record.Key)), to.report.Subdir
	to.report = &report
	for _, name := range report.Skipped {
		text := fmt.Sprintf("module %q: the package has %s, which is left out", to.record.Key, name)
		w.mu.Lock()
		w.warnings = append(w.warnings, failure.Printable(text, 500))
		w.mu.Unlock()
	}
	to.pkg, to.inside = made, cmp.Or(filepath.FromSlash(report.Subdir), ".")
	to.record.Dir = path.Join(w.modulesDir(), to.record.Key, report.Subdir)
	return nil
}

func (w *walk) download(ctx context.Context, from *module.Location, made string, o module.Options, want checksum.Hash) (*module.Report, error) {
	if err := w.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer w.slots.Release(1)
	o.Limits = o.Limits.Effective()
	o.Limits.Unpacked = max(1, min(o.Limits.Unpacked, w.room.Load()))
	report, err := module.Download(ctx, w.dir.Registry, module.Request{Location: from, Dir: filepath.Join(w.store.Root.Name(), made), H1: want}, o)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	err = fs.WalkDir(w.store.Root.FS(), filepath.ToSlash(made), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return cmp.Or(err, ctx.Err())
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err == nil && w.room.Add(-size) < 0 {
		err = fmt.Errorf("%w: the packages of all modules have more than %d bytes; set Dir.Limits.Packages", failure.ErrTooLarge, w.dir.Limits.Packages)
	}
	return report, err
}

// recordedVersion returns the version of a module, or zero if it has none.
func recordedVersion(r manifest.Record) (v addrs.Version, err error) {
	if r.Version != "" {
		v, err = addrs.ParseModuleVersion(r.Version)
	}
	return v, err
}

// once does each job of a run once. Jobs end with the context of the run.
type once[K comparable, V any] struct{ jobs sync.Map }

// do returns the result of the first job with this key.
func (o *once[K, V]) do(key K, job func() (V, error)) (V, error) {
	first, _ := o.jobs.LoadOrStore(key, sync.OnceValues(job))
	return first.(func() (V, error))()
}

// inTurn returns a function that calls report, which may be nil. Calls never overlap.
func inTurn(report func(progress.Event)) func(progress.Event) {
	turn := make(chan struct{}, 1) // not a mutex: report may block
	return func(e progress.Event) {
		if report != nil {
			turn <- struct{}{}
			defer func() { <-turn }()
			report(e)
		}
	}
}
