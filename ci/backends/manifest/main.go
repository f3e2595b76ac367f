// SPDX-License-Identifier: Apache-2.0

// A reader of Kubernetes manifests, by Kubernetes's own types: what they do not have is an error, and
// so is a field that is there twice.
//
//	manifest <FILE           writes the objects in it to stdout, as JSON, one a line
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		log.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin)); ; {
		document, err := reader.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			log.Fatal(err)
		}
		json.NewEncoder(os.Stdout).Encode(object)
	}
}
