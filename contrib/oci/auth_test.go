package oci_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const helperProgram = "docker-credential-test"

// TestMain runs a credential helper if the program has its name. The password is the input.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == helperProgram {
		asked, _ := io.ReadAll(os.Stdin)
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"Username": "helper", "Secret": strings.TrimSpace(string(asked))})
		return
	}
	os.Exit(m.Run())
}

// wantBasic refuses requests without this user and password, and calls next for others.
func wantBasic(user, password string, next func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"never-shown"}]}`, http.StatusUnauthorized)
			return true
		}
		return next != nil && next(w, r)
	}
}

// credentials returns a block of the CLI configuration for user u.
func credentials(host, password string) string {
	return fmt.Sprintf("oci_credentials %q {\n  username = \"u\"\n  password = %q\n}\n", host, password)
}
