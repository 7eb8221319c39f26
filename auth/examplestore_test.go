package auth_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// helperPath stands for a path such as /usr/local/lib/terraform-credentials-vault. Here, the
// program is this test.
var helperPath, _ = os.Executable()

func ExampleHelper() {
	// Run as "terraform-credentials-vault -vault=work get registry.example.com".
	helper := auth.Helper{Path: helperPath, Args: []string{"-vault=work"}}
	tokens := auth.Cached(auth.Chain(auth.Environ(nil), helper), 0)

	token, err := tokens.Token(context.Background(), svchost.MustParse("registry.example.com"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(token.Reveal())
	// Output:
	// from-the-vault
}

func ExampleCredentialsFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := auth.CredentialsFile{Path: filepath.Join(dir, "credentials.tfrc.json")}

	ctx := context.Background()
	host := svchost.MustParse("registry.example.com")
	token, err := auth.NewToken("abc123")
	if err != nil {
		log.Fatal(err)
	}
	if err := file.Save(ctx, host, token); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(file.Path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)

	if err := file.Forget(ctx, host); err != nil {
		log.Fatal(err)
	}
	if token, err = file.Token(ctx, host); err == nil && token.IsZero() {
		fmt.Println("logged out")
	}
	// Output:
	// {
	//   "credentials": {
	//     "registry.example.com": {
	//       "token": "abc123"
	//     }
	//   }
	// }
	// logged out
}

func ExampleNetrc() {
	logins, err := auth.LoadNetrc("testdata/netrc") // programs have the path of the user's file
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("GET", "https://modules.example.com/vpc.zip", nil)
	if err != nil {
		log.Fatal(err)
	}
	host, err := svchost.FromWire(request.URL.Host)
	if err != nil {
		log.Fatal(err)
	}
	if user, password, ok := logins.Lookup(host); ok && request.URL.Scheme == "https" {
		request.SetBasicAuth(user, password.Reveal())
		fmt.Println(user, password)
	}
	_, _, ok := logins.Lookup(svchost.MustParse("elsewhere.example.com"))
	fmt.Println(ok)
	// Output:
	// alice [redacted]
	// false
}
