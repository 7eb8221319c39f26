package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

const host = "registry.example.com"

// build makes a release of a provider for this platform in a directory, signed with a key that is always new.
func build(ctx context.Context, dir string) (regdir.Release, error) {
	demo, version := addrs.MustParseProvider(host+"/acme/demo"), addrs.MustParseVersion("1.0.0")
	sample := regtest.New(host)
	sample.AddProvider(regtest.Provider{Address: demo.String(), Version: version.String(), Platforms: []string{addrs.CurrentPlatform().String()}})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: sample.Client()}}
	release := regdir.Release{
		Provider: demo, Version: version, Keys: []verify.Key{sample.Key().Public()},
		Sums:     filepath.Join(dir, "terraform-provider-demo_1.0.0_SHA256SUMS"),
		Manifest: filepath.Join(dir, "terraform-registry-manifest.json"),
	}
	pkg, err := client.ProviderPackage(ctx, demo, version, addrs.CurrentPlatform())
	if err != nil {
		return release, err
	}
	ev, err := client.Evidence(ctx, pkg)
	if err != nil {
		return release, err
	}
	body, err := client.Open(ctx, pkg)
	if err != nil {
		return release, err
	}
	defer body.Close()
	archive, err := io.ReadAll(body)
	if err != nil {
		return release, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return release, err
	}
	for path, data := range map[string][]byte{
		release.Sums: ev.Sums, release.Sums + ".sig": ev.Signature, filepath.Join(dir, pkg.Filename): archive,
		release.Manifest: []byte(`{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`),
	} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return release, err
		}
	}
	return release, nil
}
