package azblob_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/tofureg/tofureg/contrib/azblob"
	"github.com/tofureg/tofureg/contrib/azblob/internal/must"
)

var secret = base64.StdEncoding.EncodeToString([]byte("s3cr3t-s3cr3t"))

// A server is azurite with the account "account" and the container "mirror".
type server struct{ url string }

// key returns a shared key of the account.
func key(t *testing.T, key string) *container.SharedKeyCredential {
	t.Helper()
	return must.Get(blob.NewSharedKeyCredential("account", key))(t)
}

// client returns a client of the container without a store.
func (s server) client(t *testing.T) *container.Client {
	t.Helper()
	return must.Get(container.NewClientWithSharedKeyCredential(s.url+"/mirror", key(t, secret), nil))(t)
}

// store returns a store for the container with a client of its own.
func (s server) store(t *testing.T, prefix string) *azblob.Store {
	t.Helper()
	return &azblob.Store{Container: s.url + "/mirror", SharedKey: key(t, secret), Prefix: prefix, AllowHTTP: true}
}

// start runs the program azurite-blob (the package azurite of npm) at a free port, with files in memory.
func start(t *testing.T) server {
	t.Helper()
	program, err := exec.LookPath("azurite-blob")
	if err != nil {
		t.Skip("skipped: azurite-blob is not installed")
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence",
		"--silent", "--skipApiVersionCheck", "--disableTelemetry")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS=account:"+secret)
	out := must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = cmd.Stdout
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	listens, log := make(chan string, 1), ""
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := regexp.MustCompile(`listens on (http://\S+)`).FindStringSubmatch(lines.Text()); found != nil {
				listens <- found[1]
			}
			log += lines.Text() + "\n"
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { stop(); <-ended })
	select {
	case url := <-listens:
		s := server{url + "/account"}
		must.Get(s.client(t).Create(t.Context(), nil))(t)
		return s
	case <-ended:
		t.Fatalf("azurite-blob has ended:\n%s", strings.TrimSpace(log))
	}
	panic("unreachable")
}
