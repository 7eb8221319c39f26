// Registry publishes a provider and a module as the files of a registry, serves them over TLS, and installs both
// with the CLIs on this machine.
//
//	go run ./examples/registry
//	go run ./examples/registry -dir /srv/registry
//
// The provider is a small one that is made and signed here, laid out as goreleaser leaves it. The server is a plain
// file server, with the header that Terraform before 1.12 needs for modules.
package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
)

const usage = "usage: registry [-dir DIR]"

func main() { program.Main("registry", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	flags := flag.NewFlagSet("registry", flag.ContinueOnError)
	dir := flags.String("dir", "", "`directory` of the registry, created if missing (default: a temporary directory)")
	err := program.Parse(flags, args, usage, terminal)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return program.Wrong(usage, err)
	}
	temp, err := os.MkdirTemp("", "registry-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if *dir == "" {
		*dir = filepath.Join(temp, "registry")
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	if err := publish(ctx, *dir, temp, out); err != nil {
		return err
	}
	server := httptest.NewTLSServer(withHeader(http.FileServer(http.Dir(*dir))))
	defer server.Close()
	for _, cli := range []string{"tofu", "terraform"} {
		if err := install(ctx, cli, server, filepath.Join(temp, cli), out); err != nil {
			return err
		}
	}
	return nil
}

// publish publishes version 1.0.0 of a provider and of a module.
func publish(ctx context.Context, dir, temp string, out io.Writer) error {
	registry := &regdir.Registry{Store: &storage.Dir{Path: dir}, Host: svchost.MustParse(host)}
	release, err := build(ctx, filepath.Join(temp, "dist"))
	if err != nil {
		return err
	}
	published, err := registry.PublishProvider(ctx, release)
	if err != nil {
		return err
	}
	for _, p := range published {
		fmt.Fprintf(out, "published %s %s %s, %d bytes, %s\n", release.Provider, release.Version, p.Platform, p.Size, p.Report)
	}
	source := filepath.Join(temp, "network")
	if err := os.Mkdir(source, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(source, "main.tf"), []byte("output \"cidr\" {\n  value = \"10.0.0.0/8\"\n}\n"), 0o644); err != nil {
		return err
	}
	loc, err := module.ParseLocation(source)
	if err != nil {
		return err
	}
	network := addrs.MustParseModule(host + "/acme/network/aws")
	report, err := registry.PublishModule(ctx, network, addrs.MustParseModuleVersion("1.0.0"), loc, module.Options{AllowLocal: true})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "published %s %s, %s\n", report.Module, report.Version, report.H1)
	return nil
}

// withHeader does what the rule for nginx in the documentation of regdir does.
func withHeader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, isModule := strings.CutPrefix(r.URL.Path, "/v1/modules/")
		if of, ok := strings.CutSuffix(path, "/download"); ok && isModule {
			w.Header().Set("X-Terraform-Get", "../../../../../../files/modules/"+of+"/package.tar.gz")
		}
		next.ServeHTTP(w, r)
	})
}

// install runs init of a CLI in a new directory.
func install(ctx context.Context, cli string, server *httptest.Server, dir string, out io.Writer) error {
	path, err := exec.LookPath(cli)
	if err != nil || runtime.GOOS == "windows" || runtime.GOOS == "darwin" { // SSL_CERT_FILE has no effect there
		fmt.Fprintf(out, "skipped   %s, which is not installed or cannot trust the server\n", cli)
		return nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	at := server.Listener.Addr()
	config := fmt.Sprintf("terraform {\n  required_providers {\n    demo = {\n      source = \"%s/acme/demo\"\n    }\n  }\n}\n\nmodule \"network\" {\n  source  = \"%s/acme/network/aws\"\n  version = \"1.0.0\"\n}\n", at, at)
	for name, data := range map[string][]byte{
		"main.tf": []byte(config), "cli.tfrc": nil, "ca.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, path, "init", "-no-color", "-input=false")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(dir, "ca.pem"), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s init: %w: %s", cli, err, bytes.ReplaceAll(said, []byte("\n"), []byte(" ")))
	}
	fmt.Fprintf(out, "installed the provider and the module with %s\n", cli)
	return nil
}
