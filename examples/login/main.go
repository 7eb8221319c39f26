// Login gets the API token of a host by having the user log in with a browser, and saves it like the user's
// CLI: in a file, or with a credentials helper.
//
//	go run ./examples/login
//	go run ./examples/login -browser app.terraform.io
//	go run ./examples/login -logout app.terraform.io
//
// Without a host, it logs in to an identity server in the program without a browser, and
// saves nothing.
package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

func main() { program.Main("login", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return program.Wrong(usage, err)
	}
	client := &login.Client{Open: func(url string) error { return visit(url, o.browser, out) }}
	if o.embedded {
		embed(client, o.host, out)
	}
	switch {
	case o.file != "":
		client.Store = auth.CredentialsFile{Path: o.file}
	case !o.embedded:
		if err := likeCLI(ctx, client, o.host); err != nil {
			return err
		}
	}

	fmt.Fprintf(out, "host       %s\n", o.host.Display())
	if o.logout {
		if err := client.Logout(ctx, o.host); err != nil {
			return err
		}
		fmt.Fprintf(out, "forgotten  in %v; use a page of the host to revoke the token\n", client.Store)
		return nil
	}
	result, err := client.Login(ctx, o.host)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "token      %s, valid %s\n", result.Token, until(result.Expires))
	if client.Store != nil {
		fmt.Fprintf(out, "saved      in %v\n", client.Store)
	}
	return nil
}

// likeCLI sets the transport and the store of the user's CLI.
func likeCLI(ctx context.Context, client *login.Client, host svchost.Hostname) error {
	cfg, err := cliconfig.Load(ctx, cliconfig.Host())
	if err != nil {
		return err
	}
	discovery := cfg.Discovery()
	client.Transport, client.Hosts = discovery.Transport, discovery.Hosts
	client.Store, err = cfg.Store(host)
	return err
}

// embed sets a server in this program whose user accepts every login.
func embed(client *login.Client, host svchost.Hostname, out io.Writer) {
	server := regtest.New(host.String())
	server.Login = &regtest.Login{ExpiresIn: 24 * time.Hour}
	client.Transport = &transport.Settings{HTTP: server.Client()}
	client.Open = func(url string) error {
		fmt.Fprintf(out, "page       %s\n", url)
		return server.Browse(url)
	}
}

// visit prints the URL of the login page, and opens it in a browser if browser is true.
func visit(url string, browser bool, out io.Writer) error {
	fmt.Fprintf(out, "page       please log in at\n           %s\n", url)
	if !browser {
		return nil
	}
	if err := opener(url).Run(); err != nil {
		fmt.Fprintf(out, "browser    %v; please open the page yourself\n", err)
	}
	return nil
}

// opener returns the command that opens a URL in a browser. It uses no shell, which could
// interpret characters of the URL.
func opener(url string) *exec.Cmd {
	switch runtime.GOOS {
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	case "darwin":
		return exec.Command("open", url)
	}
	return exec.Command("xdg-open", url)
}

// until returns when a token becomes invalid.
func until(expires time.Time) string {
	if expires.IsZero() {
		return "until it is revoked"
	}
	return "until " + expires.Format(time.RFC3339)
}
