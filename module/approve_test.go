package module_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestApprove: Approve sees the version and each location before it is fetched, also if the directory has the package already.
func TestApprove(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	release := reg.AddModule(regtest.Module{Address: "acme/vpc/aws", Version: "1.4.0", Files: map[string]string{"main.tf": "# vpc\n"}})
	src := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
	revoked := errors.New("revoked")
	var asked []module.Location
	var refuse error
	o := module.Options{Replace: true, Approve: func(_ context.Context, loc module.Location) error {
		asked = append(asked, loc)
		return refuse
	}}
	request := module.Request{Source: addrs.MustParseModuleSource("registry.example.com/acme/vpc/aws"), Dir: filepath.Join(t.TempDir(), "vpc"), H1: release.H1()}
	for _, refuse = range []error{revoked, nil, revoked} {
		asked = nil
		before, there := reg.Count(regtest.ModulePackage), exists(request.Dir)
		_, err := module.Download(t.Context(), src, request, o)
		refused, ok := errors.AsType[*failure.RefusedError](err)
		if ok != (refuse != nil) || ok && refused.Err != revoked {
			t.Errorf("Download with Approve returning %v: %v", refuse, err)
		}
		if len(asked) != 1 || asked[0].Version.String() != "1.4.0" || asked[0].Module != request.Source.Module || asked[0].URL == "" {
			t.Errorf("Approve was asked about %+v, want the location of version 1.4.0", asked)
		}
		if refuse != nil && (reg.Count(regtest.ModulePackage) != before || exists(request.Dir) != there) {
			t.Errorf("Download of what was refused: %d requests for packages, the directory is there: %t", reg.Count(regtest.ModulePackage)-before, exists(request.Dir))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
