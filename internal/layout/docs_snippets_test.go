package layout_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/doccache"
	"github.com/tofureg/tofureg/transport/throttle"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The functions of the files *_snippets_test.go stand in README.md and docs/*.md, letter by letter.
// TestSnippets compares them, and the tests of snippetruns_test.go run them.

func download(ctx context.Context, registry *regclient.Client, dir string) (*verify.Report, error) {
	random, constraint := addrs.MustParseProvider("hashicorp/random"), addrs.MustParseProviderConstraint("~> 3.6")
	pkg, err := provider.Find(ctx, registry, random, constraint, provider.Need{})
	if err != nil {
		return nil, err
	}
	return provider.Download(ctx, registry, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{})
}

func newest(ctx context.Context, registry *regclient.Client) (addrs.Version, error) {
	versions, err := registry.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
	if err != nil {
		return addrs.Version{}, err
	}
	return versions.Newest(addrs.MustParseProviderConstraint("~> 3.6"))
}

func ensure(ctx context.Context, source provider.Source, dir string, required install.Requirements) error {
	installer := &install.Installer{
		Source: source,
		Dir:    &install.Dir{Path: filepath.Join(dir, ".terraform", "providers")},
	}
	return lockfile.Update(ctx, filepath.Join(dir, lockfile.Name), func(lock *lockfile.File) (*lockfile.File, error) {
		result, err := installer.Ensure(ctx, required, lock)
		for _, s := range result.Selections {
			fmt.Println(s.Provider, s.Version, s.Executable)
		}
		return result.Lock, err
	})
}

func ensureAsUser(ctx context.Context, system cliconfig.System, dir string, required install.Requirements) error {
	config, err := cliconfig.Load(ctx, system)
	if err != nil {
		return err // all mistakes in the configuration files, with file and line
	}
	for _, warning := range config.Warnings() {
		log.Print(warning)
	}
	installer := config.Installer(filepath.Join(dir, ".terraform", "providers"))
	return lockfile.Update(ctx, filepath.Join(dir, lockfile.Name), func(lock *lockfile.File) (*lockfile.File, error) {
		result, err := installer.Ensure(ctx, required, lock)
		return result.Lock, err
	})
}

func lockPlatforms(ctx context.Context, registry *regclient.Client, dir string) error {
	required := install.Requirements{
		addrs.MustParseProvider("hashicorp/random"): addrs.MustParseProviderConstraint("~> 3.6"),
	}
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	return lockfile.Update(ctx, filepath.Join(dir, lockfile.Name), func(lock *lockfile.File) (*lockfile.File, error) {
		result, err := (&install.Installer{Source: registry, LockPlatforms: platforms}).Lock(ctx, required, lock)
		return result.Lock, err
	})
}

func check(ctx context.Context, lock *lockfile.File, p addrs.Provider, v addrs.Version, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	policy := verify.Policy{Accept: lock.Accept(p, v)}
	_, err = policy.Check(ctx, verify.Evidence{}, file, info.Size())
	return err // perhaps a *checksum.MismatchError
}

func explain(err error) string {
	request, failed := errors.AsType[*failure.RequestError](err)
	switch {
	case errors.Is(err, provider.ErrNoPlatform):
		return "the version has no package for this platform"
	case errors.Is(err, failure.ErrNoVersion):
		return "no version fits the constraint"
	case errors.Is(err, failure.ErrNotFound):
		return "the registry does not have this provider"
	case errors.Is(err, failure.ErrUnauthorized):
		return "log in to the registry"
	case errors.Is(err, provider.ErrProtocol):
		return "the version needs another version of OpenTofu"
	case errors.Is(err, verify.ErrRevoked), errors.Is(err, verify.ErrExpired), errors.Is(err, verify.ErrFuture):
		return "the key or the signature is not valid any more, or not yet"
	case errors.Is(err, verify.ErrWeak), errors.Is(err, verify.ErrBadKey):
		return "the publisher needs another key"
	case errors.Is(err, checksum.ErrMismatch):
		return "the archive is not the expected one"
	case provider.IsFault(err) && failed:
		return fmt.Sprintf("try again later: %d attempts at %s failed", request.Attempts, request.URL)
	}
	return err.Error()
}

func fetchModule(ctx context.Context, registry *regclient.Client, dir string) (checksum.Hash, error) {
	request := module.Request{
		Source:     addrs.MustParseModuleSource("terraform-aws-modules/iam/aws//modules/iam-user"),
		Constraint: addrs.MustParseModuleConstraint("~> 5.0"), // the newest release that it allows
		Dir:        dir,
	}
	report, err := module.Download(ctx, registry, request, module.Options{Git: &module.Git{}, Replace: true})
	if err != nil {
		return checksum.Hash{}, err
	}
	fmt.Println("the module is in", report.ModuleDir())
	return report.H1, nil
}

func fromMirror(ctx context.Context, lock *lockfile.File, mirror *mirrorclient.Client, dir string) (*verify.Report, error) {
	random, constraint := addrs.MustParseProvider("hashicorp/random"), addrs.MustParseProviderConstraint("~> 3.6")
	pkg, err := provider.Find(ctx, mirror, random, constraint, provider.Need{})
	if err != nil {
		return nil, err
	}
	policy := verify.Policy{AllowUnsigned: true} // trusts the hashes that the mirror states
	if lock.Covers(random, pkg.Version) {
		policy = verify.Policy{Accept: lock.Accept(random, pkg.Version)} // trusts the lock file only
	}
	return provider.Download(ctx, mirror, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{Policy: policy})
}

func logIn(ctx context.Context, web *transport.Settings, host svchost.Hostname, file auth.CredentialsFile, open func(url string) error) error {
	web.Credentials = auth.Chain(auth.Environ(os.Environ()), file)
	token, err := web.Credentials.Token(ctx, host)
	if err != nil || !token.IsZero() {
		return err // a source failed, or the user has a token
	}
	client := &login.Client{Transport: web, Store: file, Open: open}
	_, err = client.Login(ctx, host)
	return err
}

func TestNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // waits take no time
		reg := regtest.New("registry.opentofu.org")
		for _, version := range []string{"3.5.1", "3.6.3", "4.0.0"} {
			reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: version})
		}
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Status: http.StatusServiceUnavailable, First: 1})

		version, err := newest(t.Context(), &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}})
		if err != nil || version.String() != "3.6.3" {
			t.Errorf("newest returns %s, %v; want 3.6.3", version, err)
		}
		if n := reg.Count(regtest.Versions); n != 2 {
			t.Errorf("%d requests, want one and a retry", n)
		}
	})
}

func cachedAndThrottled(dir string, base http.RoundTripper) *transport.Settings {
	throttled := &throttle.Transport{Base: base, PerSecond: 20, Parallel: 8}
	cached := &doccache.Transport{Base: throttled, Dir: dir, FreshFor: time.Minute, StaleIfError: time.Hour}
	return &transport.Settings{HTTP: &http.Client{Transport: cached}, UserAgent: "example-tool/1.0"}
}

func fillMirror(ctx context.Context, registry provider.Source, lock *lockfile.File, dir string) error {
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		return err
	}
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	added, err := mirror.AddLocked(ctx, registry, lock, platforms, mirrordir.AddOptions{})
	for _, a := range added {
		fmt.Println(a.Provider, a.Version, a.Platform, "downloaded:", a.Fetched)
	}
	return err
}

func privateRegistry(providers provider.Source, modules module.Source, token string) http.Handler {
	return &regserve.Handler{
		Providers: providers,
		Modules:   modules,
		Host:      svchost.MustParse("registry.opentofu.org"),
		Authorize: func(r *http.Request) error {
			got := r.Header.Get("Authorization")
			if subtle.ConstantTimeCompare([]byte(got), []byte("Bearer "+token)) != 1 {
				return errors.New("unknown token")
			}
			return nil
		},
	}
}

func cacheServer(registry provider.Source, dir string) (http.Handler, error) {
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		return nil, err
	}
	cache := &mirrorserve.Cache{
		Source:   registry,
		Mirror:   mirror,
		Patterns: provider.Patterns{Include: []provider.Pattern{provider.MustParsePattern("registry.opentofu.org/hashicorp/*")}},
	}
	return http.StripPrefix("/providers", &mirrorserve.Handler{Source: cache}), nil
}

// releases is the type of the methods below, as docs/guide-servers.md describes it.
type releases struct {
	files fs.FS
	keys  []verify.Key
}

func (s *releases) ProviderVersions(_ context.Context, p addrs.Provider) (*provider.Versions, error) {
	names, err := fs.Glob(s.files, p.Namespace()+"/"+p.Type()+"/*/*.zip")
	if err == nil && len(names) == 0 {
		err = failure.ErrNotFound
	}
	platforms := map[addrs.Version][]addrs.Platform{}
	for _, name := range names {
		if v, on, err := provider.ParseArchiveName(p, path.Base(name)); err == nil { // no other file
			platforms[v] = append(platforms[v], on)
		}
	}
	list := &provider.Versions{Provider: p}
	for v, on := range platforms {
		list.Versions = append(list.Versions, provider.Release{Version: v, Platforms: on})
	}
	return list, err
}

func (s *releases) ProviderPackage(_ context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg := &provider.Package{Provider: p, Version: v, Platform: on, Keys: s.keys, MustBeSigned: true}
	pkg.Filename = pkg.ArchiveName()
	dir := path.Join(p.Namespace(), p.Type(), v.String()) + "/"
	info, err := fs.Stat(s.files, dir+pkg.Filename)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", pkg, failure.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	pkg.Size, pkg.URL = info.Size(), dir+pkg.Filename
	pkg.SumsURL = fmt.Sprintf("%sterraform-provider-%s_%s_SHA256SUMS", dir, p.Type(), v)
	pkg.SignatureURL = pkg.SumsURL + ".sig"
	return pkg, nil
}

func (s *releases) Evidence(_ context.Context, pkg *provider.Package) (ev verify.Evidence, err error) {
	ev = pkg.Evidence()
	if ev.Sums, err = fs.ReadFile(s.files, pkg.SumsURL); err == nil {
		ev.Signature, err = fs.ReadFile(s.files, pkg.SignatureURL)
	}
	return ev, err
}

func (s *releases) Open(_ context.Context, pkg *provider.Package) (*provider.Body, error) {
	f, err := s.files.Open(pkg.URL)
	if err != nil {
		return nil, err
	}
	return &provider.Body{ReadCloser: f, Size: pkg.Size}, nil
}

func proxyWithCooldown(upstream *regclient.Client, dir string, started time.Time) http.Handler {
	week := cooldown.Rule{
		Age:   7 * 24 * time.Hour,
		Dates: &cooldown.Ledger{Store: &storage.Dir{Path: dir}, Old: started.AddDate(0, 0, 1)},
	}
	return &regserve.Handler{
		Providers: &cooldown.Providers{
			Source:   upstream,
			Rule:     week,
			Patterns: provider.Patterns{Exclude: []provider.Pattern{provider.MustParsePattern("registry.opentofu.org/acme/*")}},
		},
		Modules: &cooldown.Modules{Source: upstream, Rule: week},
	}
}

func publishDist(ctx context.Context, registry *regdir.Registry, dist string, keys []verify.Key) error {
	found, err := registry.Releases(ctx, dist, "acme")
	for _, f := range found {
		f.Release.Keys = keys
		_, failed := registry.PublishProvider(ctx, f.Release)
		err = errors.Join(err, failed)
	}
	return err
}

func copyLocked(ctx context.Context, registry *regdir.Registry, upstream module.Source, lock *modulelock.File) error {
	requests, others := regdir.LockedModules(lock, registry.Host, svchost.Hostname{})
	for _, e := range others {
		log.Printf("%s is not copied: it is not in this registry", e.Key.Source)
	}
	_, err := registry.CopyModules(ctx, upstream, requests, module.Options{Git: &module.Git{}})
	if errors.Is(err, regdir.ErrExists) {
		log.Print("a version has changed since it was copied")
	}
	return err
}

func checkLockFile(ctx context.Context, source provider.Source, lock *lockfile.File, platforms []addrs.Platform) error {
	list, err := install.CheckPlatforms(ctx, source, lock, platforms, nil) // nil demands signatures
	for _, c := range list {
		if !c.OK() {
			err = errors.Join(err, fmt.Errorf("%s %s: %v", c.Provider, c.Version, c.Platforms))
		}
	}
	return err
}

func pruneCache(ctx context.Context, path string) error {
	cache := &install.Dir{Path: path} // such as TF_PLUGIN_CACHE_DIR
	removed, err := cache.PruneUnused(ctx, install.PruneOptions{Unused: 90 * 24 * time.Hour})
	for _, p := range removed {
		fmt.Println("removed", p.Provider, p.Version, p.Platform, p.By, p.Used.Format(time.DateOnly))
	}
	return err // perhaps install.ErrAccessTimes
}
