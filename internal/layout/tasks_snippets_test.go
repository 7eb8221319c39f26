package layout_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/module/manifest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func keyEnds(ctx context.Context, source provider.Source, entry lockfile.Entry) (time.Time, error) {
	check, err := install.CheckEntry(ctx, source, entry, verify.Policy{})
	if err != nil {
		return time.Time{}, err
	}
	return check.SignedBy.KeyExpires, nil // zero if it never ends
}

func installedModules(ctx context.Context, data string) (manifest.File, error) {
	dir, err := manifest.Open(data) // such as ".terraform"
	if err != nil {
		return nil, err
	}
	defer dir.Close(ctx)
	return dir.Load()
}

func (m *measured) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	start := time.Now()
	body, err := m.Source.Open(ctx, pkg)
	m.opened.Add(int64(time.Since(start)))
	return body, err
}

func (m *measured) Unwrap() provider.Source { return m.Source }

func withFallback(near, far provider.Source) provider.Source {
	return &provider.Multi{
		Sources:  []provider.NamedSource{{Name: "near", Source: near}, {Name: "far", Source: far}},
		Failover: true,
		Skipped:  func(source string, err error) { log.Printf("without %s: %v", source, err) },
	}
}

func billOfMaterials(lock *lockfile.File) (purls []string) {
	for entry := range lock.All() {
		purls = append(purls, entry.Provider.PURL(entry.Version))
	}
	return purls
}

func useInstalled(ctx context.Context, dir string, required install.Requirements, lock *lockfile.File) (*install.Result, error) {
	installer := &install.Installer{Dir: &install.Dir{Path: filepath.Join(dir, ".terraform", "providers")}} // without Source
	result, err := installer.Ensure(ctx, required, lock)
	if errors.Is(err, failure.ErrOffline) {
		return nil, fmt.Errorf("run init first: %w", err)
	}
	return result, err
}

func withClientCertificate(certFile, keyFile string) (*transport.Settings, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	return &transport.Settings{HTTP: &http.Client{Transport: base}}, nil
}

func mirrorNewest(ctx context.Context, source provider.Source, required install.Requirements, mirror *mirrordir.Mirror) error {
	var wants []mirrordir.Want
	for p, constraint := range required {
		versions, err := source.ProviderVersions(ctx, p)
		if err != nil {
			return err
		}
		newest, err := versions.Newest(constraint)
		if err != nil {
			return err
		}
		wants = append(wants, mirrordir.Want{Provider: p, Version: newest}) // for all platforms
	}
	_, err := mirror.Add(ctx, source, wants, mirrordir.AddOptions{})
	return err
}

func hasMoved(ctx context.Context, source module.Source, request module.Request, recorded checksum.Hash) (bool, error) {
	empty, err := os.MkdirTemp("", "module-") // what a directory has already is not fetched
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(empty)
	request.H1, request.Dir = recorded, filepath.Join(empty, "module") // module.Report.H1 of the first download
	_, err = module.Download(ctx, source, request, module.Options{Git: &module.Git{}})
	if errors.Is(err, checksum.ErrMismatch) {
		return true, nil
	}
	return false, err
}

func withCache(path string) module.Options {
	return module.Options{Git: &module.Git{}, Cache: &module.Cache{Path: path, MaxAge: time.Hour}}
}

func (w *workload) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	if host != w.registry {
		return auth.Token{}, nil
	}
	identity, err := os.ReadFile(w.file) // written anew by the platform, so read each time
	if err != nil {
		return auth.Token{}, err
	}
	form := url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"},
		"subject_token":      {strings.TrimSpace(string(identity))},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.exchange, strings.NewReader(form.Encode()))
	if err != nil {
		return auth.Token{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := w.client.Do(req)
	if err != nil {
		return auth.Token{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return auth.Token{}, fmt.Errorf("token exchange at %s: %s", w.exchange, resp.Status)
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return auth.Token{}, err
	}
	return auth.NewToken(answer.Token)
}

func publishModule(ctx context.Context, registry *regdir.Registry, m addrs.Module, v addrs.Version, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	location, err := module.ParseLocation(dir)
	if err != nil {
		return err
	}
	_, err = registry.PublishModule(ctx, m, v, location, module.Options{AllowLocal: true})
	return err
}

func closedRegistry(providers provider.Source, copied *regdir.Registry) http.Handler {
	return &regserve.Handler{Providers: providers, Modules: copied, Host: copied.Host, StreamModules: true}
}

func airGap(ctx context.Context, source provider.Source, lock *lockfile.File, platforms []addrs.Platform, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "providers"), 0o755); err != nil {
		return err
	}
	mirror, err := mirrordir.Open(filepath.Join(dir, "providers"))
	if err != nil {
		return err
	}
	if _, err := mirror.AddLocked(ctx, source, lock, platforms, mirrordir.AddOptions{}); err != nil {
		return err
	}
	text := "provider_installation {\n  filesystem_mirror {\n    path = \"/media/gap/providers\"\n  }\n}\n" // where it will be
	return os.WriteFile(filepath.Join(dir, "tofurc"), []byte(text), 0o644)
}

func operator(source provider.Source, cache, work string) *install.Installer {
	return &install.Installer{
		Source:  source,
		Cache:   &install.Dir{Path: cache}, // a volume that all pods share
		Dir:     &install.Dir{Path: filepath.Join(work, ".terraform", "providers")},
		TempDir: work, // an emptyDir: nothing else is written
	}
}

func bucketMirror(store storage.Store) (*mirrordir.Mirror, http.Handler) {
	mirror := &mirrordir.Mirror{Store: store}
	return mirror, &mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink}
}

func getModule(ctx context.Context, address, dir string) error {
	location, err := module.ParseLocation(address)
	if err != nil {
		return err
	}
	_, err = module.Download(ctx, nil, module.Request{Location: location, Dir: dir}, module.Options{Git: &module.Git{}})
	return err
}

func newestLocation(ctx context.Context, registry *regclient.Client, m addrs.Module) (*module.Location, error) {
	versions, err := registry.ModuleVersions(ctx, m)
	if err != nil {
		return nil, err
	}
	version, err := versions.Newest(addrs.ModuleConstraint{})
	if err != nil {
		return nil, err
	}
	return registry.ModuleLocation(ctx, m, version)
}

func installNewest(ctx context.Context, registry *regclient.Client, required install.Requirements, dir string) error {
	installer := &install.Installer{Source: registry, Dir: &install.Dir{Path: dir}}
	_, err := installer.Ensure(ctx, required, nil)
	return err
}
