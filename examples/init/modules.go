package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/module"
)

// manifestName is the file in which the CLI looks for the modules of a configuration.
const manifestName = modulesDir + "/modules.json"

// modulesDir has the packages, in directories with the names of keys.
const modulesDir = ".terraform/modules"

// maxModules is the maximum number of modules, and maxDepth of nested calls.
const (
	maxModules  = 10_000
	maxCalls    = 50
	maxManifest = 16 << 20 // bytes
	parallel    = 16       // downloads
)

// A record is the entry of a module in the manifest.
type record struct {
	Key     string // names of the calls, joined by dots
	Source  string
	Version string `json:",omitempty"`
	Dir     string // relative to the directory of the configuration
}

// A tree has all modules of a configuration.
type tree struct {
	*initialiser
	source *source
	before map[string]record // of an earlier run
	group  *errgroup.Group
	store  *os.Root // modulesDir, to which all is written
	slots  chan struct{}

	reading sync.Mutex                // one file is parsed at a time, because that takes memory
	read    map[string]*configuration // by directory

	mu        sync.Mutex
	records   []record
	installed []record          // modules that were downloaded
	packages  map[string]string // keys of modules by their package directories in lower case
	required  map[addrs.Provider]addrs.ProviderConstraint
}

// modules installs the modules of the configuration and writes the manifest.
func (in *initialiser) modules(ctx context.Context) (*tree, error) {
	root, err := os.OpenRoot(in.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// A link that leads out of the directory is refused here, before anything is written.
	for _, name := range []string{modulesDir, providersDir} {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return nil, err
		}
	}
	store, err := root.OpenRoot(modulesDir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	t := &tree{
		initialiser: in, source: &source{root, in.terraform}, store: store, slots: make(chan struct{}, parallel),
		read: map[string]*configuration{}, packages: map[string]string{}, required: map[addrs.Provider]addrs.ProviderConstraint{},
	}
	if err := t.load(); err != nil {
		return nil, err
	}
	t.group, ctx = errgroup.WithContext(ctx)
	t.group.Go(func() error { return t.visit(ctx, location{record: record{Dir: "."}}) })
	if err := t.group.Wait(); err != nil {
		return nil, err
	}
	byKey := func(a, b record) int { return strings.Compare(a.Key, b.Key) }
	slices.SortFunc(t.records, byKey)
	slices.SortFunc(t.installed, byKey)
	if len(t.records) == 1 {
		return t, nil // the CLI writes no manifest without module blocks
	}
	data, err := json.Marshal(map[string][]record{"Modules": t.records})
	if err != nil {
		return nil, err
	}
	part, err := fsx.CreatePartIn(store, ".", 0o644)
	if err != nil {
		return nil, err
	}
	defer part.Discard()
	if _, err := part.Write(data); err != nil {
		return nil, err
	}
	return t, part.PublishAs(path.Base(manifestName))
}

// load reads the manifest of an earlier run.
func (t *tree) load() error {
	data, err := readFile(t.store, path.Base(manifestName), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var manifest struct{ Modules []record }
	if err := json.Unmarshal(data, &manifest); err != nil || len(data) > maxManifest {
		return &ConfigError{manifestName, "not a manifest of modules; remove the file to install the modules again"}
	}
	t.before = map[string]record{}
	for _, r := range manifest.Modules {
		t.before[r.Key] = r
	}
	return nil
}

// A location is the location of a module in the tree.
type location struct {
	record
	pkg   string   // package directory of the module; empty for the configuration itself
	dirs  []string // directories from the root to this module, in the same package
	depth int
}

// visit reads a module and the modules that it calls.
func (t *tree) visit(ctx context.Context, at location) error {
	if at.depth > maxCalls {
		return &ConfigError{at.Dir, fmt.Sprintf("more than %d nested module calls", maxCalls)}
	}
	if slices.Contains(at.dirs, at.Dir) {
		return &ConfigError{at.Dir, "the module calls itself through " + strings.Join(at.dirs, ", ")}
	}
	config, err := t.configuration(ctx, at.Dir)
	if err != nil {
		return err
	}
	t.mu.Lock()
	err = config.requirements(t.config.DefaultHost(), t.required)
	t.records = append(t.records, at.record)
	if len(t.records) > maxModules {
		err = errors.Join(err, &ConfigError{at.Dir, fmt.Sprintf("more than %d modules", maxModules)})
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	for _, c := range config.calls {
		t.group.Go(func() error {
			next, err := t.resolve(ctx, at, c)
			if err != nil {
				return err
			}
			return t.visit(ctx, *next)
		})
	}
	return nil
}

// configuration reads the module in a directory, once for all calls.
func (t *tree) configuration(ctx context.Context, dir string) (c *configuration, err error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	if c = t.read[dir]; c == nil {
		if c, err = t.source.read(ctx, dir); err == nil {
			t.read[dir] = c
		}
	}
	return c, err
}

// resolve finds or installs the module that a block calls.
func (t *tree) resolve(ctx context.Context, at location, c *call) (*location, error) {
	next := &location{depth: at.depth + 1, record: record{Key: strings.TrimPrefix(at.Key+"."+c.name, ".")}}
	address, err := t.address(c)
	if err != nil {
		return nil, wrong(c.at, "module %q: %v", c.name, err)
	}
	if address.Path != "" {
		next.Source, next.pkg = address.Path, at.pkg
		next.Dir = path.Join(at.Dir, address.Path)
		next.dirs = append(slices.Clone(at.dirs), at.Dir)
		if !below(next.Dir, at.pkg) {
			return nil, wrong(c.at, "module %q: %s is outside of the package in %s", c.name, address.Path, cmp.Or(at.pkg, "."))
		}
		return next, nil
	}
	next.pkg = path.Join(modulesDir, next.Key)
	if other := t.claim(next); other != "" {
		return nil, wrong(c.at, "modules %q and %q would have the same directory on some systems", next.Key, other)
	}
	if err := t.install(ctx, next, at, c, address); err != nil {
		return nil, fmt.Errorf("%s:%d: module %q: %w", c.at.Filename, c.at.Start.Line, c.name, err)
	}
	return next, nil
}

// claim reserves the directory of a package. It returns the key of another module with the same
// directory on some system.
func (t *tree) claim(to *location) (other string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	folded := archive.Fold(to.pkg)
	other = t.packages[folded]
	t.packages[folded] = to.Key
	return other
}

func (t *tree) address(c *call) (module.Address, error) {
	if c.version == "" {
		return module.ParseAddressIn(t.config.DefaultHost(), c.source)
	}
	source, err := addrs.ParseModuleSourceIn(t.config.DefaultHost(), c.source)
	return module.Address{Registry: source}, err
}

// below reports whether dir is in the package, or in the configuration if pkg is empty.
func below(dir, pkg string) bool {
	if pkg == "" {
		return filepath.IsLocal(filepath.FromSlash(dir))
	}
	return dir == pkg || strings.HasPrefix(dir, pkg+"/")
}

// install installs a package unless it is installed.
func (t *tree) install(ctx context.Context, to *location, from location, c *call, address module.Address) error {
	constraint, err := addrs.ParseModuleConstraint(c.version)
	if err != nil {
		return err
	}
	if address.Location != nil {
		to.Source = address.Location.Source()
	} else {
		to.Source = address.Registry.String()
	}
	if old, ok := t.before[to.Key]; ok && t.isInstalled(old, to, constraint) {
		to.Version, to.Dir = old.Version, old.Dir
		return nil
	}
	report, err := t.fetch(ctx, to, address, constraint, from.pkg == "")
	if err != nil {
		return err
	}
	to.Dir = path.Join(to.pkg, report.Subdir)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.installed = append(t.installed, to.record)
	return nil
}

// isInstalled reports whether the module of an earlier run matches the module block.
func (t *tree) isInstalled(old record, to *location, constraint addrs.ModuleConstraint) bool {
	if old.Source != to.Source || path.Clean(old.Dir) != old.Dir || !below(old.Dir, to.pkg) {
		return false
	}
	if old.Version != "" {
		v, err := addrs.ParseVersion(old.Version)
		if err != nil || !constraint.Allows(v) {
			return false
		}
	}
	info, err := t.source.root.Stat(old.Dir)
	return err == nil && info.IsDir()
}

// fetch downloads a package into a private directory, from which it moves to its place in the store. Only the
// configuration itself may use local paths.
func (t *tree) fetch(ctx context.Context, to *location, address module.Address, constraint addrs.ModuleConstraint, own bool) (report *module.Report, err error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	private, err := fsx.CreatePartDirIn(t.store, ".", 0o700)
	if err != nil {
		return nil, err
	}
	defer private.Discard(ctx)
	made := filepath.Join(private.Path(), "package")
	options := module.Options{Git: &module.Git{}, SkipLinks: true, AllowLocal: own}
	if location := address.Location; location != nil {
		report, err = module.DownloadLocation(ctx, t.config.Registry(), location, made, options)
	} else {
		report, err = t.newest(ctx, to, address.Registry, constraint, made, options)
	}
	if err != nil {
		return nil, err
	}
	_, err = private.Put("package", to.Key, nil)
	return report, errors.Join(err, fsx.SyncDirIn(t.store, "."))
}

// newest downloads the newest version that matches a constraint.
func (t *tree) newest(ctx context.Context, to *location, source addrs.ModuleSource, constraint addrs.ModuleConstraint, dir string, options module.Options) (*module.Report, error) {
	registry := t.config.Registry()
	versions, err := registry.ModuleVersions(ctx, source.Module)
	if err != nil {
		return nil, err
	}
	version, err := versions.Newest(constraint)
	if err != nil {
		return nil, err
	}
	to.Version = version.String()
	return module.Download(ctx, registry, source, version, dir, options)
}
