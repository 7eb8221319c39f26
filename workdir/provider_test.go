package workdir

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// role is the environment variable of a process that is a provider, not the tests.
const role = "TOFUREG_WORKDIR_PROVIDER"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		if err := tf5server.Serve(name, func() tfprotov5.ProviderServer { return &tiny{} }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(prepared); dir != "" {
		prepareAndExit(dir)
	}
	os.Exit(m.Run())
}

// prepared is the environment variable of a process that prepares a directory.
const prepared = "TOFUREG_WORKDIR_PREPARE"

// prepareAndExit is that process.
func prepareAndExit(dir string) {
	config, err := cliconfig.Load(context.Background(), cliconfig.System{Home: dir, Dir: dir})
	if err == nil {
		d := New(config, dir)
		d.Upgrade = true
		_, err = d.Prepare(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// tiny is a provider with an empty schema.
type tiny struct{ tfprotov5.ProviderServer }

func (*tiny) GetProviderSchema(context.Context, *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	return &tfprotov5.GetProviderSchemaResponse{Provider: &tfprotov5.Schema{Block: &tfprotov5.SchemaBlock{}}}, nil
}

func (*tiny) StopProvider(context.Context, *tfprotov5.StopProviderRequest) (*tfprotov5.StopProviderResponse, error) {
	return &tfprotov5.StopProviderResponse{}, nil
}

// provider returns an archive with a program that runs this one as a provider.
func providerZip(t *testing.T, typ, version string) []byte {
	t.Helper()
	self := must.Get(os.Executable())(t)
	program := fmt.Sprintf("#!/bin/sh\n%s=%s exec '%s'\n", role, typ, self)
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	header := &zip.FileHeader{Name: "terraform-provider-" + typ + "_v" + version, Method: zip.Deflate}
	header.SetMode(0o755)
	must.Get(io.WriteString(must.Get(w.CreateHeader(header))(t), program))(t)
	must.Do(t, w.Close())
	return archive.Bytes()
}
