package layout_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regserve"
)

func fillMirror(ctx context.Context, registry provider.Source, lock *lockfile.File, dir string) error {
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		return err
	}
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	added, err := mirror.AddLocked(ctx, registry, lock, platforms, mirrordir.Options{})
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
	allowed := &provider.Multi{Sources: []provider.NamedSource{{
		Name:    "registry",
		Source:  registry,
		Include: []provider.Pattern{provider.MustParsePattern("registry.opentofu.org/hashicorp/*")},
	}}}
	cache := &mirrorserve.Cache{Source: allowed, Mirror: mirror}
	return http.StripPrefix("/providers", &mirrorserve.Handler{Source: cache}), nil
}
