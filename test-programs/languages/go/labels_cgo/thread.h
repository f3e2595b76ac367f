/* SPDX-License-Identifier: Apache-2.0 */
void start_thread(void);
void spin_called(void);
void spin_called_back(void);
