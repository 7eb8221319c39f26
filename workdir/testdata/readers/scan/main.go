// Scan prints the module calls and required providers of a directory.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/workdir"
)

const text = `
terraform {
  required_providers {
    random = { source = "hashicorp/random", version = "~> 3.6" }
  }
}
variable "v" { default = "1.0.0" }
module "net" {
  source  = "acme/network/aws"
  version = var.v
}
module "local" { source = "./local" }
resource "null_resource" "x" {}
resource "broken" {
`

func main() {
	path, err := os.MkdirTemp("", "scan")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	if err := os.WriteFile(filepath.Join(path, "main.tf"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	read, err := (&workdir.Dir{Path: path}).Read(context.Background())
	if read != nil {
		out := json.NewEncoder(os.Stdout)
		for _, c := range read.Calls {
			out.Encode(c)
		}
		for _, r := range read.Providers {
			out.Encode(r)
		}
	}
	fmt.Println(err != nil)
}

// Output:
// {"key":"local","source":"./local","place":{"file":"main.tf","line":12}}
// {"key":"net","source":"acme/network/aws","version_text":"var.v","place":{"file":"main.tf","line":8}}
// {"provider":"registry.opentofu.org/hashicorp/random","constraint":"~\u003e 3.6","written":"~\u003e 3.6","place":{"file":"main.tf","line":4},"name":"random"}
// {"provider":"registry.opentofu.org/hashicorp/null","place":{"file":"main.tf","line":13},"name":"null"}
// true
