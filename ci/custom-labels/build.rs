// SPDX-License-Identifier: Apache-2.0
fn main() {
    custom_labels::build::emit_build_instructions();
}
