package auth_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

func ExampleEnviron() {
	// Programs pass os.Environ().
	tokens := auth.Environ([]string{"TF_TOKEN_registry_example_com=abc123"})
	host := svchost.MustParse("registry.example.com")

	token, err := tokens.Token(context.Background(), host)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens.Variable(host), token)
	fmt.Println(token.Reveal())
	// Output:
	// TF_TOKEN_registry_example_com [redacted]
	// abc123
}

func ExampleChain() {
	environment := auth.Environ([]string{
		"TF_TOKEN_one_test=from-the-environment",
		"TF_TOKEN_broken_test=two words",
	})
	token, err := auth.NewToken("from-the-program")
	if err != nil {
		log.Fatal(err)
	}
	program := token.For(svchost.MustParse("one.test"), svchost.MustParse("two.test"), svchost.MustParse("broken.test"))
	tokens := auth.Cached(auth.Chain(environment, program), 0)

	for _, name := range []string{"one.test", "two.test", "three.test", "broken.test"} {
		token, err := tokens.Token(context.Background(), svchost.MustParse(name))
		switch {
		case err != nil:
			fmt.Println(err)
		case token.IsZero():
			fmt.Println(name, "has none")
		default:
			fmt.Println(name, token.Reveal())
		}
	}
	// Output:
	// one.test from-the-environment
	// two.test from-the-program
	// three.test has none
	// token for broken.test: environment: variable "TF_TOKEN_broken_test": invalid token: byte 4 of 9 is a space or tab
}

// A source of your own needs one method.
type vaultSource struct{}

func (vaultSource) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	return auth.Token{}, errors.New("the vault is sealed")
}

func (vaultSource) String() string { return "vault" }

func ExampleSource() {
	_, err := auth.Lookup(context.Background(), vaultSource{}, svchost.MustParse("registry.example.com"))
	fmt.Println(err)
	if failed, ok := errors.AsType[*auth.SourceError](err); ok {
		fmt.Println("host:", failed.Host)
	}
	// Output:
	// token for registry.example.com: vault: the vault is sealed
	// host: registry.example.com
}
