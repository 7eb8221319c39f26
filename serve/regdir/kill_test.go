package regdir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
)

// handled is an HTTP transport that calls a handler.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

var errDead = errors.New("the process is dead")

// watched is a store that calls before with each call. An error is the result of the call.
type watched struct {
	storage.Store
	mu     sync.Mutex
	before func(op, name string) error
}

func (w *watched) look(op, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.before(op, name)
}

func (w *watched) Stat(ctx context.Context, name string) (storage.Info, error) {
	if err := w.look("stat", name); err != nil {
		return storage.Info{}, err
	}
	return w.Store.Stat(ctx, name)
}

func (w *watched) Open(ctx context.Context, name string) (*storage.File, error) {
	if err := w.look("open", name); err != nil {
		return nil, err
	}
	return w.Store.Open(ctx, name)
}

func (w *watched) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if err := w.look("list", dir); err != nil {
		return nil, err
	}
	return w.Store.List(ctx, dir)
}

func (w *watched) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	if err := w.look("write", name); err != nil {
		return err
	}
	return w.Store.Write(ctx, name, content, was)
}

func (w *watched) Delete(ctx context.Context, name string) error {
	if err := w.look("delete", name); err != nil {
		return err
	}
	return w.Store.Delete(ctx, name)
}

// dying returns a store that fails at call n and at all later calls, and reports whether it has.
func dying(s storage.Store, n int) (store storage.Store, died *bool) {
	died = new(bool)
	return &watched{Store: s, before: func(string, string) error {
		if n--; n < 0 {
			*died = true
			return errDead
		}
		return nil
	}}, died
}

// TestKilledPublish kills a publication at each call of the store. What the registry says must be true,
// another version must be published beside it, and a repeated publication must complete it.
func TestKilledPublish(t *testing.T) {
	t.Parallel()
	first, rel := dist(t, "1.0.0", 0, "linux_amd64"), dist(t, "2.0.0", 0, "linux_amd64", "darwin_arm64")
	kill(t, func(r *regdir.Registry) { publish(t, r, first) },
		func(r *regdir.Registry) error { return errorOf(r.PublishProvider(t.Context(), rel)) },
		"1.0.0 linux_amd64", "1.0.0 linux_amd64 2.0.0 darwin_arm64 linux_amd64")
}

// TestKilledMerge does the same where the version gets another platform.
func TestKilledMerge(t *testing.T) {
	t.Parallel()
	rel := dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64")
	archive := filepath.Join(filepath.Dir(rel.Sums), "terraform-provider-alpha_1.0.0_darwin_arm64.zip")
	rel.AllowMissing = true
	data := must.Get(os.ReadFile(archive))(t)
	kill(t, func(r *regdir.Registry) {
		must.Do(t, os.RemoveAll(archive))
		publish(t, r, rel)
		write(t, archive, string(data))
	}, func(r *regdir.Registry) error { return errorOf(r.PublishProvider(t.Context(), rel)) },
		"1.0.0 linux_amd64", "1.0.0 darwin_arm64 linux_amd64")
}

// TestKilledRemove does the same for a removal.
func TestKilledRemove(t *testing.T) {
	t.Parallel()
	one, two := dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64"), dist(t, "2.0.0", 0, "linux_amd64")
	kill(t, func(r *regdir.Registry) {
		publish(t, r, one)
		publish(t, r, two)
	}, func(r *regdir.Registry) error { return r.RemoveProvider(t.Context(), alpha, v1) },
		"1.0.0 darwin_arm64 linux_amd64 2.0.0 linux_amd64", "2.0.0 linux_amd64")
}

// TestKilledReplacement kills a removal, and checks that the version can then be published with other content, or, if it
// was not removed, after another removal.
func TestKilledReplacement(t *testing.T) {
	t.Parallel()
	one, other := dist(t, "1.0.0", 0, "linux_amd64"), dist(t, "1.0.0", 1, "darwin_arm64")
	for n, died := 0, true; died; n++ {
		memory := &mirrortest.Bucket{Generations: true}
		r := newRegistry(memory)
		publish(t, r, one)
		store, dead := dying(memory, n)
		err := newRegistry(store).RemoveProvider(t.Context(), alpha, v1)
		if died = *dead; died != errors.Is(err, errDead) {
			t.Fatalf("call %d: %v", n, err)
		}
		if _, err := r.PublishProvider(t.Context(), other); errors.Is(err, regdir.ErrExists) {
			must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
			publish(t, r, other)
		} else if err != nil {
			t.Errorf("PublishProvider after a removal that died at call %d: %v", n, err)
		}
		if got := wantTrue(t, memory); got != "1.0.0 darwin_arm64" {
			t.Errorf("after call %d the registry has %q", n, got)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

// kill does a job on stores that fail at call n, for all n, after prepare. The registry must have what it had
// before or afterwards, and a repetition of the job must complete it.
func kill(t *testing.T, prepare func(*regdir.Registry), job func(*regdir.Registry) error, before, after string) {
	t.Helper()
	killWith(t, wantTrue, prepare, job, before, after)
}

func killWith(t *testing.T, want func(testing.TB, storage.Store) string, prepare func(*regdir.Registry), job func(*regdir.Registry) error, before, after string) {
	t.Helper()
	for n, died := 0, true; died; n++ {
		memory := &mirrortest.Bucket{Generations: true}
		prepare(newRegistry(memory))
		store, dead := dying(memory, n)
		err := job(newRegistry(store))
		if died = *dead; died != errors.Is(err, errDead) || !died && err != nil {
			t.Fatalf("call %d, dead %v: %v", n, died, err)
		}
		if got := want(t, memory); got != before && got != after {
			t.Errorf("after call %d the registry has %q, want %q or %q", n, got, before, after)
		}
		if err := job(newRegistry(memory)); err != nil {
			t.Fatalf("after call %d the job fails: %v", n, err)
		}
		if got := want(t, memory); got != after {
			t.Errorf("after call %d and another job the registry has %q, want %q", n, got, after)
		}
		if n > 500 {
			t.Fatal("the job never ends")
		}
	}
}

// TestPublishers lets 20 processes publish at the same time: versions of their own, and platforms of one
// version that all share. Nothing may be lost.
func TestPublishers(t *testing.T) {
	t.Parallel()
	shared := dist(t, "9.0.0", 0, "linux_amd64", "linux_arm64", "darwin_arm64", "windows_amd64")
	archives := must.Get(filepath.Glob(filepath.Join(filepath.Dir(shared.Sums), "*.zip")))(t)
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for n := range 20 {
				rel := shared
				if n%2 == 0 {
					rel = dist(t, fmt.Sprintf("1.%d.0", n), 0, "linux_amd64")
				} else { // a job that built one platform
					dir := t.TempDir()
					for _, file := range []string{shared.Sums, shared.Sums + ".sig", archives[n/2%len(archives)]} {
						write(t, filepath.Join(dir, filepath.Base(file)), string(must.Get(os.ReadFile(file))(t)))
					}
					rel.Sums, rel.AllowMissing = filepath.Join(dir, filepath.Base(shared.Sums)), true
				}
				wg.Go(func() {
					r := newRegistry(store)
					if d, ok := store.(*storage.Dir); ok {
						r = newRegistry(&storage.Dir{Path: d.Path})
					}
					if _, err := r.PublishProvider(t.Context(), rel); err != nil {
						t.Error(err)
					}
				})
			}
			for range 5 {
				check(t, store)
			}
			wg.Wait()
			want := "1.0.0 linux_amd64 1.2.0 linux_amd64 1.4.0 linux_amd64 1.6.0 linux_amd64 1.8.0 linux_amd64 1.10.0 linux_amd64 " +
				"1.12.0 linux_amd64 1.14.0 linux_amd64 1.16.0 linux_amd64 1.18.0 linux_amd64 9.0.0 darwin_arm64 linux_amd64 linux_arm64 windows_amd64"
			if got := wantTrue(t, store); got != want {
				t.Errorf("the registry has %q, want %q", got, want)
			}
		})
	}
}

// TestRivals lets processes publish other contents of one version, and remove it, at the same time. One
// content must win, or none, and the registry must be true.
func TestRivals(t *testing.T) {
	t.Parallel()
	var rels []regdir.Release
	for n := range 4 {
		rels = append(rels, dist(t, "1.0.0", n, "linux_amd64", "darwin_arm64"))
	}
	all := stores(t)
	all["digests"] = &mirrortest.Bucket{}
	for name, store := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 10 {
				var wg sync.WaitGroup
				for n := range 8 {
					wg.Go(func() {
						r := newRegistry(store)
						var err error
						if n%4 == 3 {
							err = r.RemoveProvider(t.Context(), alpha, v1)
						} else {
							_, err = r.PublishProvider(t.Context(), rels[n%3])
						}
						if err != nil && !errors.Is(err, regdir.ErrExists) {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				wantTrue(t, store)
			}
			must.Do(t, newRegistry(store).RemoveProvider(t.Context(), alpha, v1))
			publish(t, newRegistry(store), rels[3])
			if got := wantTrue(t, store); got != "1.0.0 darwin_arm64 linux_amd64" {
				t.Errorf("the registry has %q", got)
			}
		})
	}
}

// TestEnds checks that each function returns with its context: it ends at call n of the store, for all n. Another call
// completes a publication.
func TestEnds(t *testing.T) {
	t.Parallel()
	rel := dist(t, "1.0.0", 0, "linux_amd64")
	_, loc := source(t, "# one\n")
	_, src := upstream()
	pkg := &provider.Package{Provider: alpha, Version: v1, Platform: addrs.MustParsePlatform("linux_amd64")}
	for name, job := range map[string]func(context.Context, *regdir.Registry) error{
		"PublishProvider": func(ctx context.Context, r *regdir.Registry) error {
			rel := rel
			rel.Manifest = ""
			return errorOf(r.PublishProvider(ctx, rel))
		},
		"RemoveProvider": func(ctx context.Context, r *regdir.Registry) error { return r.RemoveProvider(ctx, alpha, v1) },
		"ProviderVersions": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.ProviderVersions(ctx, alpha))
		},
		"ProviderPackage": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.ProviderPackage(ctx, alpha, v1, pkg.Platform))
		},
		"PublishModule": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.PublishModule(ctx, network, v2, loc, local))
		},
		"CopyModules": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.CopyModules(ctx, src, []module.Request{{Source: addrs.ModuleSource{Module: vpc}}}, module.Options{}))
		},
		"All": func(ctx context.Context, r *regdir.Registry) (err error) {
			for _, failed := range r.All(ctx) {
				err = errors.Join(err, failed)
			}
			return err
		},
		"Check": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.Check(ctx, regdir.CheckOptions{Archives: true}))
		},
		"Releases": func(ctx context.Context, r *regdir.Registry) error {
			for n := 0; n < 3 && ctx.Err() == nil; n++ { // it makes no call of the store
				_, _ = r.ProviderVersions(ctx, alpha)
			}
			return errorOf(r.Releases(ctx, filepath.Dir(rel.Sums), "acme"))
		},
		"Sweep":        func(ctx context.Context, r *regdir.Registry) error { return errorOf(r.Sweep(ctx)) },
		"RemoveModule": func(ctx context.Context, r *regdir.Registry) error { return r.RemoveModule(ctx, network, v1) },
		"ModuleVersions": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.ModuleVersions(ctx, network))
		},
		"ModuleLocation": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.ModuleLocation(ctx, network, v1))
		},
		"OpenModule": func(ctx context.Context, r *regdir.Registry) error {
			return errorOf(r.OpenModule(ctx, &module.Location{Module: network, Version: v1, URL: "https://" + host + "/files/modules/acme/network/aws/1.0.0/package.tar.gz"}))
		},
		"Evidence": func(ctx context.Context, r *regdir.Registry) error { return errorOf(r.Evidence(ctx, pkg)) },
		"Open":     func(ctx context.Context, r *regdir.Registry) error { return errorOf(r.Open(ctx, pkg)) },
	} {
		for n, ended := 0, true; ended; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			memory := &mirrortest.Bucket{Generations: true}
			if name != "PublishProvider" {
				publish(t, newRegistry(memory), rel)
				publishModule(t, newRegistry(memory), v1, loc)
			}
			calls := 0
			err := job(ctx, newRegistry(&watched{Store: memory, before: func(string, string) error {
				if calls++; calls > n {
					cancel()
				}
				return nil
			}}))
			if ended = ctx.Err() != nil; ended && calls > n+1 && (!errors.Is(err, context.Canceled) || calls > n+20) {
				t.Errorf("%s whose context ends at call %d: %v after %d calls", name, n, err, calls)
			}
			if r := newRegistry(memory); strings.HasPrefix(name, "Publish") {
				must.Do(t, job(t.Context(), r))
				if got := must.Get(r.Check(t.Context(), regdir.CheckOptions{Archives: true}))(t); len(got.Problems) > 0 {
					t.Errorf("%s completed after the end at call %d: %v", name, n, got.Problems)
				}
			}
			cancel()
		}
	}
}
