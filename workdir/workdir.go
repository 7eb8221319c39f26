package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/module/manifest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Dir is a working directory of OpenTofu or Terraform. [New] sets the fields that are required. Set the fields
// before the first call. Methods may be called concurrently, also by processes with the same directory.
type Dir struct {
	// Path is the directory of the configuration.
	Path string

	// Data is the data directory, absolute or relative to Path. If empty, it is the variable TF_DATA_DIR in
	// Environ, or ".terraform". It may be a symbolic link, but the directories in it must not lead out of it.
	Data string

	// Terraform selects the rules of Terraform instead of OpenTofu.
	Terraform bool

	// Version is the version of the CLI for required_version. If zero, required_version is ignored.
	Version addrs.Version

	// Registry finds and fetches modules. If nil, Dir is offline for modules: only local and installed ones are
	// used, and for others the error is [failure.ErrOffline].
	Registry module.Source

	// Modules are the options of module downloads. AllowLocal and Replace are ignored. [New] sets Git, KeepLinks and
	// SkipLinks: links that stay in their package are kept, and others are left out with a warning. Approve is also called
	// for installed modules; the location of one from a registry has only Module, Version and Subdir.
	Modules module.Options

	// Installer installs providers. Its field Dir is ignored: it is the directory "providers" in the data directory.
	// It is required for providers that are not built in.
	Installer *install.Installer

	// Upgrade selects new versions instead of the installed modules and the locked providers.
	Upgrade bool

	// LockModules locks modules, which the CLI does not: the file ".tofureg.modules.lock" beside the lock file of
	// providers gets the version, the commit and the hash of each remote source, in modules of others too. A locked
	// source gets the locked version, or of a git repository without "ref" the locked commit. It must have the locked
	// hash when it is fetched: if a tag or branch in "ref" has moved, the error names both commits. Upgrade moves the entries.
	// Installed modules are believed, as the CLI believes them, so that a module may write into its directory.
	LockModules bool

	// Rehash, with LockModules, fetches an installed package again unless it has the locked hash.
	Rehash bool

	// ReadOnly writes no lock file. A missing, changed or superfluous entry is an error that names it. Hashes of a
	// locked version that the lock file lacks are not added. Upgrade must not be set.
	ReadOnly bool

	// Variables are values of input variables as after -var: text for a variable without type or of a primitive
	// type, otherwise an expression.
	Variables map[string]string

	// Environ are environment variables in the form NAME=VALUE. TF_DATA_DIR, TF_WORKSPACE and TF_VAR_* are used. If nil,
	// there are none.
	Environ []string

	// Workspace is the value of terraform.workspace. If empty, it is TF_WORKSPACE in Environ, or "default".
	Workspace string

	// Limits are the limits of what is read.
	Limits Limits
}

// New returns a Dir that follows a CLI configuration. It sets Terraform, Registry, Modules, Installer and Environ. Set
// Version too, or required_version is ignored.
func New(config *cliconfig.Config, path string) *Dir {
	return &Dir{
		Path:      path,
		Terraform: config.DefaultHost() != addrs.DefaultHost(),
		Registry:  config.ModuleSource(),
		Modules:   module.Options{Git: &module.Git{}, KeepLinks: true, SkipLinks: true},
		Installer: config.Installer(""),
		Environ:   config.Environ(),
	}
}

// Result is the result of [Dir.Prepare], [Dir.Plan], [Dir.InstallModules] or [Dir.ReadTree].
type Result struct {
	Modules   []Module        `json:"modules"`            // sorted by key, so that the configuration itself is first
	Warnings  []string        `json:"warnings,omitempty"` // one line each, printable
	Providers *install.Result `json:"providers"`          // nil if the modules failed, and after InstallModules and ReadTree

	// Locked reports that the lock file of providers has changed, or would change.
	Locked bool `json:"locked,omitempty"`
}

// Required returns the providers that the modules require. The constraint of a provider is that of all modules.
func (r *Result) Required() install.Requirements {
	terms, seen := map[addrs.Provider][]addrs.ProviderConstraint{}, map[*Requirement]bool{}
	for _, m := range r.Modules {
		if len(m.Providers) == 0 || seen[&m.Providers[0]] { // of a directory that several modules share
			continue
		}
		seen[&m.Providers[0]] = true
		for _, p := range m.Providers {
			terms[p.Provider] = append(terms[p.Provider], p.Constraint)
		}
	}
	all := install.Requirements{}
	for p, terms := range terms {
		all[p] = addrs.ProviderConstraint{}.And(terms...)
	}
	return all
}

// Prepare installs modules and providers, as init of the CLI does, and writes the manifest of modules and the lock
// file. Beside an error, the result has what succeeded. If a module fails, no module is changed and no provider is
// installed. If a provider fails, the others are installed and locked. This is so after the end of ctx too, when requests
// that still run end soon after Prepare has returned.
func (d *Dir) Prepare(ctx context.Context) (*Result, error) { return d.prepare(ctx, false) }

// Plan returns what [Dir.Prepare] would do. It asks registries for versions, but downloads no package and writes
// nothing. What is in missing modules is unknown; see [Module.Missing].
func (d *Dir) Plan(ctx context.Context) (*Result, error) { return d.prepare(ctx, true) }

func (d *Dir) prepare(ctx context.Context, plan bool) (*Result, error) {
	result, err := d.modules(ctx, plan, false, false)
	if err != nil {
		return &Result{}, err
	}
	if d.Installer != nil && len(d.Installer.Reattached) > 0 { // as Terraform 1.16 warns
		result.Warnings = append(result.Warnings, fmt.Sprintf("TF_REATTACH_PROVIDERS sets the unmanaged providers %v: they are not installed, and their entries in the lock file stay", d.Installer.Reattached))
	}
	result.Providers, result.Locked, err = d.providers(ctx, result.Required(), plan)
	return result, err
}

// InstallModules installs the modules of the configuration and writes the manifest. After an error, nothing has
// changed.
func (d *Dir) InstallModules(ctx context.Context) (*Result, error) {
	return d.modules(ctx, false, false, false)
}

// InstallProviders installs providers and writes the lock file.
func (d *Dir) InstallProviders(ctx context.Context, required install.Requirements) (*install.Result, error) {
	result, _, err := d.providers(ctx, required, false)
	return result, err
}

// Read reads the directory alone, and evaluates nothing. It installs nothing and needs no module, so it is for scanners
// and editors too. Beside the error [Problems], the module has what could be read.
func (d *Dir) Read(ctx context.Context) (*Module, error) { return d.readAlone(ctx, false) }

// Evaluate is like [Dir.Read], and evaluates the sources and versions of the module blocks. An error is in the block.
func (d *Dir) Evaluate(ctx context.Context) (*Module, error) { return d.readAlone(ctx, true) }

func (d *Dir) readAlone(ctx context.Context, evaluate bool) (*Module, error) {
	w, err := d.walk(true, evaluate)
	if err != nil {
		return nil, err
	}
	w.lists = true
	top := w.top()
	m, err := w.module(ctx, top)
	if evaluate && m != nil {
		w.evaluate(ctx, top, m)
	}
	return m, err
}

// host returns the default host of addresses.
func (d *Dir) host() svchost.Hostname {
	if d.Terraform {
		return svchost.MustParse("registry.terraform.io")
	}
	return addrs.DefaultHost()
}

// variable returns the last value of an environment variable, and whether it is set.
func (d *Dir) variable(name string) (value string, set bool) {
	for _, v := range slices.Backward(d.Environ) {
		if value, set = strings.CutPrefix(v, name+"="); set {
			return value, true
		}
	}
	return "", false
}

// walk returns a walk for the directory, if real without links.
func (d *Dir) walk(plan, real bool) (*walk, error) {
	if d.ReadOnly && d.Upgrade {
		return nil, errors.New("workdir: ReadOnly and Upgrade cannot both be set")
	}
	copied := *d // for concurrent calls
	copied.Modules.Progress = inTurn(d.Modules.Progress)
	copied.Limits = d.Limits.orDefault()
	data, _ := d.variable("TF_DATA_DIR")
	w := &walk{
		dir: &copied, plan: plan, data: filepath.Clean(cmp.Or(d.Data, data, ".terraform")), slots: semaphore.NewWeighted(16), asking: semaphore.NewWeighted(64),
		configs: map[string]*configuration{}, visited: manifest.File{},
		budget: budget{left: maxWork, guard: newGuard(copied.Limits)},
	}
	w.budget.paths = &w.paths
	w.room.Store(copied.Limits.Packages)
	var err error
	if w.base, err = filepath.Abs(d.Path); err == nil && real {
		w.base, err = filepath.EvalSymlinks(w.base)
	}
	return w, err
}

// top returns the place of the configuration itself.
func (w *walk) top() *spot {
	return &spot{walk: w, known: map[string]*thunk{}, record: manifest.Record{Dir: "."}, files: files{dir: w.base}}
}

// VerifyModules compares the installed remote modules with the module lock. It asks no server and writes nothing. The
// error joins one for each module that is not installed, not locked, or has another version or hash than the locked
// one; the last is a [*modulelock.ChangedError].
func (d *Dir) VerifyModules(ctx context.Context) error {
	offline := *d
	offline.Registry, offline.LockModules, offline.Upgrade, offline.ReadOnly = nil, true, false, false
	_, err := offline.modules(ctx, true, true, false)
	return err
}

// ReadTree reads the directory and the modules that it calls, as far as they are local or installed. It evaluates their
// sources, asks no server and writes nothing. Other modules are Missing in the result. Beside an error, which joins at
// most 100 of [Problems] and of what else is wrong with a module, the result has what could be read.
func (d *Dir) ReadTree(ctx context.Context) (*Result, error) {
	offline := *d
	offline.Registry, offline.LockModules, offline.Upgrade, offline.ReadOnly = nil, false, false, false
	return offline.modules(ctx, true, false, true)
}

// modules installs or plans the modules, verifies the installed ones, or is tolerant of errors.
func (d *Dir) modules(ctx context.Context, plan, verify, tolerant bool) (*Result, error) {
	w, err := d.walk(plan, true)
	if err != nil {
		return nil, err
	}
	if w.verify, w.tolerant, w.lists = verify, tolerant, tolerant; w.lists {
		w.budget.guard.words /= 2 // whose contents stay
	}
	writes, root := !plan, w.top()
	if err := w.read(ctx, root); err != nil {
		return nil, err
	}
	called := len(root.config.list) > 0
	if called {
		defer func() {
			if w.store != nil {
				w.store.Close(ctx)
			}
		}()
		err = w.tolerate(ctx, w.open(ctx))
	}
	lockPath := filepath.Join(w.base, modulelock.Name)
	w.lock, w.locked = &modulelock.File{}, map[modulelock.Key]bool{}
	if err == nil && d.LockModules {
		w.lock, err = modulelock.Load(lockPath)
	}
	if err != nil {
		return nil, err
	}
	before := string(w.lock.Bytes())
	var inner context.Context
	w.group, inner = errgroup.WithContext(ctx)
	w.group.Go(func() error { return w.visit(inner, root) })
	err = w.group.Wait()
	if err == nil && d.LockModules && writes {
		if removed := w.lock.Keep(maps.Keys(w.locked)); len(removed) > 0 && d.ReadOnly {
			err = fmt.Errorf("%s has an entry for %s, which no module calls: run without ReadOnly to remove it", modulelock.Name, removed[0].Key)
		}
	}
	if err == nil && called && writes {
		w.manifest.Drop(w.dropped...)
		maps.Copy(w.manifest, w.visited)
		err = w.store.Commit(ctx, w.manifest)
	}
	if err == nil && d.LockModules && writes && !d.ReadOnly && string(w.lock.Bytes()) != before {
		err = w.lock.Save(lockPath)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(w.beside, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	slices.SortFunc(w.modules, func(a, b Module) int { return strings.Compare(a.Key, b.Key) })
	slices.Sort(w.warnings)
	return &Result{Modules: w.modules, Warnings: w.warnings}, errors.Join(w.beside...)
}

// open opens the directory of packages and reads the manifest. A plan opens only what exists.
func (w *walk) open(ctx context.Context) (err error) {
	if w.plan {
		w.store, err = manifest.Open(abs(w.base, w.data))
	} else {
		w.store, err = manifest.Create(ctx, abs(w.base, w.data))
	}
	if err == nil {
		w.manifest, err = w.store.Load()
	} else if w.plan && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, manifest.ErrSyntax) {
		err = &ConfigError{Place{File: path.Join(w.modulesDir(), manifest.Name)}, err.Error()}
	}
	return err
}

// providers installs providers and writes the lock file.
func (d *Dir) providers(ctx context.Context, required install.Requirements, plan bool) (result *install.Result, changed bool, err error) {
	w, err := d.walk(plan, true)
	if err != nil {
		return nil, false, err
	}
	if most := w.dir.Limits.Providers; len(required) > most {
		return nil, false, fmt.Errorf("%w: more than %d providers are required; set Dir.Limits.Providers", failure.ErrTooLarge, most)
	}
	// A link in the data directory must not lead out of it.
	data, err := os.OpenRoot(abs(w.base, w.data) + asDirectory)
	if err == nil {
		_, err = data.Stat("providers")
		data.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	installer := *cmp.Or(d.Installer, &install.Installer{})
	installer.Dir = &install.Dir{Path: abs(w.base, filepath.Join(w.data, "providers"))}
	installer.Upgrade, installer.ReadOnly = d.Upgrade, d.ReadOnly
	do := installer.Ensure
	if plan {
		do = installer.Plan
	}
	ensure := func(lock *lockfile.File) (_ *lockfile.File, err error) {
		result, err = do(ctx, required, lock)
		for _, selection := range result.Selections {
			err = errors.Join(err, d.keepStated(result.Lock, lock, selection))
		}
		if changed = !result.Lock.Equal(lock); !changed {
			return nil, err
		}
		if lock.Header == "" && d.Terraform {
			result.Lock.Header = lockfile.HeaderTerraform
		}
		return result.Lock, err
	}
	path := filepath.Join(w.base, lockfile.Name)
	if !plan && !d.ReadOnly {
		err = lockfile.Update(ctx, path, ensure)
		return result, changed, err
	}
	lock, err := lockfile.Load(path)
	if err == nil {
		_, err = ensure(lock)
	}
	return result, changed, err
}

// keepStated drops the hash of an archive without a signature from its new entry. OpenTofu keeps it if a registry or
// network mirror states it.
func (d *Dir) keepStated(lock, before *lockfile.File, s install.Selection) error {
	report := s.Reports[s.Platform]
	entry, ok := lock.Get(s.Provider)
	if !ok || report == nil || report.Trust == verify.Signed {
		return nil
	}
	var keep []checksum.Hash
	if old, _ := before.Get(s.Provider); old.Version == entry.Version {
		keep = old.Hashes
	}
	if p := s.Package; p != nil && !d.Terraform && !strings.HasPrefix(p.URL, "file:") {
		keep = slices.Concat(keep, p.Evidence().Hashes)
	}
	entry.Hashes = slices.DeleteFunc(entry.Hashes, func(h checksum.Hash) bool {
		return h.Scheme() == checksum.SchemeZH && slices.Contains(report.Local, h) && !slices.Contains(keep, h)
	})
	return lock.Set(entry)
}
